//! Link words: how shared code branches through constant pointers (see `coherence`).
//!
//! Each process has its own idea of what a constant pointer holds: another one may have the same code, and other files at other places. So a branch in shared
//! code jumps to what its *link word* says, a word of the process's own thread state:
//!
//! ```text
//!     jmp gs:[word]  ─► exit stub            at first: the runtime looks where the constant pointer leads
//!                    ─► the target's trace   from then on, in whichever mapping that lies
//!                    ─► the general way      if the constant pointer can be written after all: load it, look the target up
//! ```
//! All link words start anew when translations are dropped.

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

    /// The branch with this link word goes there from now on.
    pub fn lead(&mut self, word: u32, to: CachePc) {
        // SAFETY: the promise of `new`.
        unsafe { (&raw mut (*self.thread).link_words).cast::<u64>().add(word as usize).write(to.0) };
    }

    /// All link words say nothing from here on.
    pub fn clear(&mut self) {
        // SAFETY: the promise of `new`.
        unsafe { (*self.thread).link_words.fill(gateway::leave_by_stub_pc()) };
    }
}
