//! Registers that are held while words are written into the buffer.

use isa::Fixup;
use machine::{AppPc, CachePc, Gpr};

use crate::abi::{NOT_BORROWED, borrowed};

/// A borrowed register and the slot that has the app's value.
pub(in crate::emit) type Borrowed = (Gpr, usize);

/// What is held.
#[derive(Clone, Copy)]
pub(in crate::emit) struct Held {
    /// Where words are written to.
    pub(in crate::emit) pointer: Borrowed,
    /// Whether that is the register that is reserved for it.
    pub(in crate::emit) reserved: bool,
    /// In which addresses are computed, if there is need for that.
    pub(in crate::emit) scratch: Option<Borrowed>,
}

impl Held {
    pub(in crate::emit) fn scratch_register(&self) -> Gpr {
        self.scratch.expect("taken where a word needs it").0
    }

    /// Those that are borrowed.
    pub(in crate::emit) fn registers(&self) -> impl Iterator<Item = Borrowed> {
        Some(self.pointer).filter(|_| !self.reserved).into_iter().chain(self.scratch)
    }
}

/// What is held while a trace is translated.
#[derive(Default)]
pub(in crate::emit) struct WordsState {
    pub(in crate::emit) held: Option<Held>,
    /// Before which instruction both are given back.
    pub(in crate::emit) until: usize,
    /// Words that were written since they were taken.
    pub(in crate::emit) words: usize,
    /// The first mark that isn't counted yet.
    pub(in crate::emit) uncounted: usize,
    /// How many of the trace's values were seen to.
    pub(in crate::emit) done: usize,
    /// Where a branch back to the trace's head goes while registers are held.
    pub(in crate::emit) top: Option<CachePc>,
    /// Branches out of the trace while registers are held: the jump, where it goes, and what is to be given back.
    pub(in crate::emit) ways_out: Vec<(Fixup, AppPc, Held)>,
    /// See `stream::drain`.
    pub(in crate::emit) drain: Option<WayToDrain>,
}

impl WordsState {
    /// One bit for each register that is held.
    pub(in crate::emit) fn held_registers(&self) -> u16 {
        self.held.iter().flat_map(Held::registers).fold(0, |all, (r, _)| all | 1 << r as u16)
    }

    /// Adds what is held to the borrowed registers of a mark.
    pub(in crate::emit) fn with_held(&self, mut marked: [u8; 3]) -> [u8; 3] {
        for (r, slot) in self.held.iter().flat_map(Held::registers) {
            let free = marked.iter_mut().find(|packed| **packed == NOT_BORROWED);
            *free.expect("one register is borrowed at most while two are held") = borrowed(r, slot);
        }
        marked
    }
}

/// The jump out of the trace's head, with what is held there.
pub(in crate::emit) type WayToDrain = (Fixup, Option<Held>);
