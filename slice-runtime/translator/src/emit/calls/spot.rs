//! Where in a trace a call is, and what was put there.

use machine::Gpr;

use crate::abi::{self, NOT_BORROWED, PcSource, borrowed_for_flags};
use crate::emit::emitter::Emitter;

/// A routine that was put in place.
pub(in crate::emit) struct InPlace {
    /// Offset from which on it has done its work (a counter has been added up).
    pub(in crate::emit) done: u32,
    /// Offset from which on a part of that may be done.
    pub(in crate::emit) begun: u32,
}

/// Where in a trace a call is.
#[derive(Clone, Copy)]
pub(in crate::emit) struct Spot {
    /// Index of the instruction that the call is at.
    pub(in crate::emit) index: usize,
    /// Its block.
    pub(in crate::emit) block: usize,
    /// Index of the instruction before which the home slots are what they are here.
    pub(in crate::emit) state: usize,
    /// Where the app goes on: see [`PcSource`].
    pub(in crate::emit) pc: u64,
    /// Where that is.
    pub(in crate::emit) source: PcSource,
    /// Flags that must be preserved.
    pub(in crate::emit) live_flags: u64,
}

impl Emitter<'_> {
    /// From here on the app is at a spot, and registers are borrowed there, rax for the flags if `flags_in_rax`.
    pub(in crate::emit) fn mark_spot(&mut self, spot: Spot, borrowed: &[(Gpr, usize)], flags_in_rax: bool) {
        let mut packed = [NOT_BORROWED; 3];
        for (place, &(r, slot)) in packed.iter_mut().zip(borrowed) {
            let holds_flags = flags_in_rax && r == Gpr::Rax;
            *place = if holds_flags { borrowed_for_flags(slot) } else { abi::borrowed(r, slot) };
        }
        self.mark_with(spot.pc, spot.source, packed);
    }
}
