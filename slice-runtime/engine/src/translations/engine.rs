//! What all threads of a process share.

use bubble::shared::EngineStats;
use machine::AppPc;
use translator::abi::{SpaceId, ThreadState, TraceId};
use translator::emit::ScratchBuffers;
use translator::routines::RoutineFacts;

use super::deferred::Deferred;
use super::point::Points;
use crate::cache::{Cache, Found};
use crate::coherence::AppCode;
use crate::interface::Settings;
use crate::link::Links;

/// What all threads of a process share: the code cache, what is known of the app's code, where branches go, and where the host is asked.
///
/// Invariant: dropped code is in no link, no table, and no point's list.
pub struct Engine {
    pub(crate) settings: Settings,
    pub(crate) cache: Cache,
    pub(crate) code: AppCode,
    pub(crate) links: Links,
    pub(crate) points: Points,
    /// What waits until no thread is in the cache.
    pub(crate) deferred: Deferred,
    /// Whether the app enters a block where it goes on in the middle of one, see [`crate::Control::renew`].
    pub(crate) enters: bool,
    /// What is known of analysis routines.
    pub(crate) known: RoutineFacts,
    /// Buffers of the next translation.
    pub(super) spare: ScratchBuffers,
    /// Counters.
    pub(crate) stats: EngineStats,
    /// See [`crate::Control::leave_shared`].
    pub(super) has_left_shared: bool,
}

impl Engine {
    /// An engine without translations.
    ///
    /// # Safety
    /// As [`Links::new`].
    pub(crate) unsafe fn new(settings: Settings, cache: Cache, thread: *mut ThreadState) -> Self {
        let mut engine = Self {
            settings,
            cache,
            code: AppCode::new(settings.outlives_run, settings.replays),
            // SAFETY: the caller's promise.
            links: unsafe { Links::new(thread, settings) },
            points: Points::default(),
            deferred: Deferred::default(),
            enters: false,
            known: RoutineFacts::default(),
            spare: ScratchBuffers::default(),
            stats: EngineStats::default(),
            has_left_shared: false,
        };
        if engine.cache.shared().is_some() {
            engine.links.words.clear();
        }
        engine
    }

    /// The shared trace that starts at `pc`, if this process must not run it.
    pub(super) fn hidden_at(&self, pc: AppPc) -> Option<TraceId> {
        let id = self.cache.shared()?.tables.find(pc)?;
        self.points.is_hidden(id).then_some(id)
    }

    /// Whether a trace is compared with its app code when it is entered.
    pub(super) fn is_compared(&self, found: Found) -> bool {
        let trace = self.cache.trace(found);
        self.code.are_compared(trace.pc.0, trace.pc.0 + u64::from(trace.app_len))
    }

    /// Whether a new trace for `pc` would be shared.
    pub(crate) fn makes_shared(&mut self, pc: AppPc) -> bool {
        !self.has_left_shared && !self.points.has_end_at(pc) && self.hidden_at(pc).is_none() && self.is_shared(pc)
    }

    /// Whether the code at `pc` is translated for all slices.
    pub(super) fn is_shared(&mut self, pc: AppPc) -> bool {
        let Some(tables) = self.cache.shared_tables() else { return false };
        !self.code.is_protected(pc.0) && self.code.shared(pc.0, &tables)
    }

    /// Whether other traces may jump to this one without the dispatcher's knowledge.
    pub(crate) fn may_enter_directly(&self, found: Found) -> bool {
        let trace = self.cache.trace(found);
        let once = found.0 == SpaceId::Own && self.cache.own().tables.find(trace.pc) != Some(found.1);
        self.settings.linking && !once && (trace.self_checks == 1 || !self.is_compared(found))
    }

    /// Arithmetic flags that may be read after the app comes to `pc`.
    pub(super) fn live_flags_at(&mut self, pc: AppPc) -> u64 {
        self.code.live_flags_at(pc, pc, self.settings.exact_faults, self.settings.off)
    }
}
