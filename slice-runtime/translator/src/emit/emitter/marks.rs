//! What tells the app's state at each place of the code.

use std::ops::Range;

use super::{ScratchBuffers, emptied};
use crate::abi::{BlockCall, BufferMark, CallMark, CountedBlock, MapEntry};

/// The state map and what goes with it, in the order of the code.
pub(in crate::emit) struct Marks {
    pub(in crate::emit) map: Vec<MapEntry>,
    pub(in crate::emit) block_calls: Vec<BlockCall>,
    pub(in crate::emit) words: Vec<BufferMark>,
    pub(in crate::emit) call_marks: Vec<CallMark>,
    /// Its `code` is the offset in the trace's app code.
    pub(in crate::emit) counted: Vec<CountedBlock>,
    /// Offset at which the block began that is being written.
    pub(in crate::emit) block_begin: u32,
    /// Where a count branch that isn't taken jumps over what follows if it is.
    pub(in crate::emit) not_taken: Option<Range<u32>>,
}

impl Marks {
    /// None, with room for a trace's calls.
    pub(super) fn new(spare: &mut ScratchBuffers, calls: usize) -> Self {
        Self {
            map: emptied(&mut spare.map),
            block_calls: Vec::with_capacity(calls),
            words: Vec::new(),
            call_marks: Vec::with_capacity(calls),
            counted: Vec::new(),
            block_begin: 0,
            not_taken: None,
        }
    }

    /// From an entry's offset on this holds. What was said of the same offset before doesn't.
    pub(in crate::emit) fn push(&mut self, entry: MapEntry) {
        match self.map.last_mut() {
            Some(last) if last.offset == entry.offset => *last = entry,
            _ => self.map.push(entry),
        }
    }
}
