//! Link words: how shared code branches through slots (see `coherence`).
//!
//! Each process has its own idea of what a slot holds: another one may have the same code, and other files at other places. So a branch in shared
//! code jumps to what its *cell* says, a word of the process's own thread state:
//!
//! ```text
//!     jmp gs:[cell]  ─► exit stub            at first: the runtime looks where the slot leads
//!                    ─► the target's trace   from then on, in whichever mapping that lies
//!                    ─► the general way      if the slot can be written after all: load it, look the target up
//! ```
//! All cells start anew when translations are dropped.

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
