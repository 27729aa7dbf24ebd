//! How the further threads of a process that was running by itself come into the image, serially.
//!
//! ```text
//!   control process                                    image, in the first thread
//!     Site::others: how many there are          --->     makes a stack for each
//!                                               <---     Adoption: where those are, and what a thread executes first
//!     writes each thread's state onto its stack, and
//!     lets it go on with the image's first instruction
//! ```
//! Until then they stand still where they were.

use std::sync::atomic::AtomicU64;

use machine::{Registers, SavedXState};

/// What the image tells.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Adoption {
    /// Where the list of stacks is, a [`ThreadStack`] for each thread. Written last: 0 before that.
    pub stacks: AtomicU64,
    /// The first instruction of a thread.
    pub entry: AtomicU64,
    /// What is in rax then. [`ThreadStack::block`] is in rdi, and the stack pointer is behind the stack's last byte.
    pub begin: AtomicU64,
    /// The image's bases of FS and GS.
    pub fs_base: AtomicU64,
    /// See there.
    pub gs_base: AtomicU64,
}

/// A stack for a thread.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadStack {
    /// What the image knows the thread by.
    pub block: u64,
    /// The stack's first byte. There the thread's [`AdoptedState`] is to be.
    pub start: u64,
    /// Its size in bytes.
    pub size: u64,
}

/// The state in which a thread was.
#[repr(C)]
#[derive(Clone)]
pub struct AdoptedState {
    /// Registers.
    pub registers: Registers,
    /// Its signal mask. All signals are blocked when it comes into the image.
    pub signal_mask: u64,
    /// Extended state.
    pub xstate: SavedXState,
}
