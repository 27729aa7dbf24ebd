//! What waits until no thread is in the code cache.
//!
//! A thread that is alone makes such changes at once: while it is in the runtime nobody runs translated code. Where there are others
//! they may be anywhere in it. So the change is put down here, and made when they have all come out ([`crate::Host::stop_others`]). Until then they go on in what was translated before:
//! natively, too, a processor may execute what it has fetched before another one has changed it. The thread that has made the app's change doesn't: it comes here first.

use machine::CachePc;
use translator::abi::TraceId;

/// What waits.
#[derive(Default)]
pub(crate) struct Deferred {
    /// Others may run translated code while a thread is in the runtime.
    pub(super) others_run: bool,
    /// They don't now.
    pub(super) is_alone: bool,
    pub(super) flush: bool,
    pub(super) forgets_counters: bool,
    pub(super) zero_is_mapped: bool,
    /// Traces whose entries are to lead elsewhere: to the dispatcher if it isn't said where.
    pub(super) redirected: Vec<(TraceId, Option<CachePc>)>,
}

impl Deferred {
    /// From now on others may run translated code while a thread is in the runtime.
    pub(crate) fn expect_others(&mut self) {
        self.others_run = true;
    }

    /// Whether they may.
    pub(crate) fn others_run(&self) -> bool {
        self.others_run
    }

    /// Whether changes wait.
    pub(super) fn applies(&self) -> bool {
        self.others_run && !self.is_alone
    }

    /// The cache is to be emptied.
    pub(super) fn flush(&mut self) {
        self.flush = true;
    }

    /// Behind that nothing is known of counters.
    pub(super) fn forget_counters(&mut self) {
        self.forgets_counters = true;
    }

    /// The app has mapped address 0.
    pub(super) fn zero_is_mapped(&mut self) {
        self.zero_is_mapped = true;
    }

    /// A trace's entry is to lead there.
    pub(super) fn redirect(&mut self, id: TraceId, to: Option<CachePc>) {
        self.redirected.push((id, to));
    }

    pub(super) fn any(&self) -> bool {
        self.flush || self.zero_is_mapped || !self.redirected.is_empty()
    }
}
