//! Buffers that translations use one after the other: to allocate them for each would take a tenth of its time.

use isa::{Instruction, Usage};

use super::Translation;
use crate::abi::{MapEntry, TraceExit};

/// The buffers. What is in them means nothing.
#[derive(Default)]
pub struct ScratchBuffers {
    /// A trace's.
    pub instructions: Vec<Instruction>,
    pub(in crate::emit) usages: Vec<Usage>,
    pub(in crate::emit) live_flags: Vec<u64>,
    pub(in crate::emit) map: Vec<MapEntry>,
    pub(in crate::emit) pending: Vec<(usize, usize)>,
    pub(in crate::emit) exits: Vec<TraceExit>,
    pub(in crate::emit) descriptors: Vec<u64>,
    pub(in crate::emit) code: Vec<u8>,
    pub(in crate::emit) stubs: Vec<u8>,
    pub(in crate::emit) arena: Vec<u8>,
}

impl ScratchBuffers {
    /// Takes back those of a translation that was written to its place.
    pub fn take_back(&mut self, made: Translation) {
        (self.code, self.stubs, self.exits, self.arena) = (made.code, made.stubs, made.exits, made.arena);
    }
}

/// The buffer, empty, with none left in its place.
pub fn emptied<T>(buffer: &mut Vec<T>) -> Vec<T> {
    let mut taken = std::mem::take(buffer);
    taken.clear();
    taken
}
