//! Link words: where branches through slots (see `coherence`) go in code that slices share.
//!
//! What a slot holds is known to the process alone that looks at it: another one may have the same code and other files at other places. So
//! a branch in shared code jumps to what its cell says, a word of the process's own thread state. At first that is where exit stubs go; the runtime finds
//! the trace that the slot leads to in this process, whatever mapping that is in, or else that the slot can be written, and puts
//! the branch's own other way there, where the slot is loaded and its target looked up. All cells start anew when translations are dropped.

use machine::CachePc;
use translator::abi::ThreadState;

use crate::gateway;

/// The words.
pub struct LinkWords {
    thread: *mut ThreadState,
}

impl LinkWords {
    /// Those of a thread state.
    ///
    /// # Safety
    /// It must stay mapped, and nobody else may use its words while translated code doesn't run.
    pub unsafe fn new(thread: *mut ThreadState) -> Self {
        Self { thread }
    }

    /// The branch with this cell goes there from now on.
    pub fn lead(&mut self, cell: u32, to: CachePc) {
        // SAFETY: the promise of `new`.
        unsafe { (&raw mut (*self.thread).slots).cast::<u64>().add(cell as usize).write(to.0) };
    }

    /// All cells say nothing from here on.
    pub fn clear(&mut self) {
        // SAFETY: the promise of `new`.
        unsafe { (*self.thread).slots.fill(gateway::leave_by_stub_pc()) };
    }
}
