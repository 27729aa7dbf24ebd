//! Where a slice ends.

use machine::{Registers, SavedXState, SignalOrigin};

/// Words of stack in a signature.
pub const STACK_WORDS: usize = 100;

/// Ranges in [`SharedContents`].
pub const SHARED_RANGES: usize = 16;
/// Windows of them.
pub const SHARED_WINDOWS: usize = 256;

/// What lay in memory that other processes may write, when the app made the call at a slice's end.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedContents {
    /// First address, and the first behind; both 0 where there is none.
    pub ranges: [[u64; 2]; SHARED_RANGES],
    /// Bytes of a window.
    pub window: u64,
    /// Of the contents of each window.
    pub digests: [u32; SHARED_WINDOWS],
}

impl Default for SharedContents {
    /// No ranges.
    fn default() -> Self {
        Self { ranges: [[0; 2]; SHARED_RANGES], window: 0, digests: [0; SHARED_WINDOWS] }
    }
}

/// How a slice ends.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndKind {
    /// At the `syscall` instruction that comes after the last record: it counts as executed, its
    /// effects belong to the next slice (or it ends the program).
    Syscall = 0,
    /// Where the whole signature matches, before the instruction there, after the last record.
    Signature = 1,
}

/// How the instruction stands in its block before which a slice ends.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndStands {
    /// Anywhere in it.
    Anywhere = 0,
    /// The app's own control flow has come to it, and it starts the block: it isn't looked for in the middle of one.
    First = 1,
    /// Anywhere in it; and it was begun: it has raised a signal.
    Faults = 2,
}

/// A signal that ends the app.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fatal {
    /// Its number; 0: there is none.
    pub signal: i64,
    /// Where it came from.
    pub origin: SignalOrigin,
}

/// A slice's end. The registers are always filled in: for [`EndKind::Syscall`] they are those at the
/// system call's entry (rip after the `syscall` instruction, rax the number) and serve as a check.
#[repr(C)]
#[derive(Clone)]
pub struct End {
    /// Which of the two.
    pub kind: EndKind,
    /// How many of `stack` are valid (fewer than 100 where the stack ends).
    pub stack_words: u32,
    /// 1 if the slice that starts at this boundary starts in the very state at which this one ends: no signal came between.
    pub goes_on: u32,
    /// How the instruction at the end stands in its block.
    pub stands: EndStands,
    /// First address, and the first behind, of what the kernel wrote between this end and the next slice's start: the frame of
    /// a signal on another stack. Both 0 if there is none.
    pub frame: [u64; 2],
    /// The signal that ends the app there, if there is one.
    pub fatal: Fatal,
    /// For [`EndKind::Syscall`]: memory that others may write.
    pub shared: SharedContents,
    /// Registers at the end.
    pub registers: Registers,
    /// Top of the stack, from rsp upwards.
    pub stack: [u64; STACK_WORDS],
    /// Extended state at the end.
    pub xstate: SavedXState,
}
