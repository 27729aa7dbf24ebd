//! Routines that have the host asked: [`ask`] is all that they do.
//!
//! The host may want other calls from here on, so translated code is left as by an interruption: before the instruction, of which nothing was begun.

use std::sync::atomic::{AtomicBool, Ordering};

use machine::CachePc;

use crate::interface::{Flow, Host};
use crate::run::next::Next;
use crate::run::runner::Runner;

static IS_ASKED: AtomicBool = AtomicBool::new(false);

/// Has the host asked. Only from a routine of a call that asks ([`translator::trace::AnalysisCall::asking`]).
pub fn ask() {
    IS_ASKED.store(true, Ordering::Relaxed);
}

/// Whether a routine has asked since the last time.
pub(in crate::run) fn take() -> bool {
    IS_ASKED.swap(false, Ordering::Relaxed)
}

impl Runner {
    /// A routine has asked, at `place`.
    pub(in crate::run) fn ask_host(&mut self, host: &mut dyn Host, place: CachePc) -> Next {
        let left = self.leave_block(place, false);
        self.flush_counters();
        self.begun.go_on_or_enter(left);
        let rest = self.begun.take_rest();
        let (cpu, mut control) = self.ask();
        let flow = host.asked(cpu, &mut control);
        let enters = std::mem::take(&mut self.engine.enters);
        self.begun.put_back(rest.filter(|_| !enters));
        match flow {
            Flow::Continue => Next::Dispatch,
            Flow::Leave => Next::Leave,
        }
    }
}
