//! What the app's threads share, and how the one that has the turn gets it.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use engine::Runner;
use machine::Here;

use crate::ports::requests;
use crate::serial::host::SerialHost;
use crate::serial::threads::{TURNS, ThreadBlock};

static SHARED_STATE: AtomicPtr<SharedState> = AtomicPtr::new(null_mut());

/// What the threads share. Used by who has the turn.
pub struct SharedState {
    pub(super) engine: Box<Runner>,
    pub(super) host: SerialHost,
    /// The thread whose state the engine and the host have, unless that has ended.
    pub(super) loaded: Option<&'static ThreadBlock>,
}

/// The first thread, which has the turn, is about to run.
pub fn begin(engine: Box<Runner>, host: SerialHost, first: &'static ThreadBlock) {
    let shared = SharedState { engine, host, loaded: Some(first) };
    SHARED_STATE.store(Box::into_raw(Box::new(shared)), Ordering::Release);
}

/// Whether threads have windows. For one that begins: that stays as it is.
pub fn have_windows() -> bool {
    // SAFETY: whoever has started a thread has stored it; the word doesn't change any more.
    unsafe { (*SHARED_STATE.load(Ordering::Acquire)).host.have_windows() }
}

/// What the threads share, with the state of whichever thread had the turn last.
///
/// # Safety
/// The calling thread has the turn, and keeps it for as long as it uses this.
pub unsafe fn as_it_is() -> &'static mut SharedState {
    // SAFETY: the caller's promise; it was stored before the first thread went on.
    unsafe { &mut *SHARED_STATE.load(Ordering::Acquire) }
}

/// Uses what the threads share, for the calling thread, which has the turn.
pub fn with_turn<R>(me: &'static ThreadBlock, work: impl FnOnce(&mut SharedState) -> R) -> R {
    // SAFETY: the references of the others have ended: they gave the turn up outside of this function, or say what they do about that (`parallel`).
    let shared = unsafe { as_it_is() };
    shared.load(me);
    work(shared)
}

impl SharedState {
    fn load(&mut self, me: &'static ThreadBlock) {
        if self.loaded.is_none_or(|loaded| !std::ptr::eq(loaded, me)) {
            // SAFETY: the caller has the turn.
            let mut state = unsafe { me.take() }.expect("the state of a thread that isn't loaded is kept");
            match &mut state.runner {
                Some(runner) => std::mem::swap(&mut self.engine, runner),
                None => self.engine.exchange(&mut state.cpu, &mut state.stopped),
            }
            self.host.exchange(&mut state);
            self.host.memory = Here::new();
            self.host.goes_on(self.engine.cpu());
            if let Some(last) = self.loaded.replace(me) {
                // SAFETY: as above.
                unsafe { last.put(state) };
            }
        }
        // In this order: what arrives between says so itself.
        engine::set_interrupted(false);
        if me.arrivals.flag().load(Ordering::Acquire) != 0 || TURNS.is_asked_for(&me.waiter) || requests::are_there() {
            engine::set_interrupted(true);
        }
    }
}
