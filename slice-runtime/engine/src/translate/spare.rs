//! Buffers that translations use one after the other: to allocate them for each would take a tenth of its time.

use isa::{Instruction, Usage};

use super::Translation;
use crate::statemap::MapEntry;
use crate::tables::Exit;

/// The buffers. What is in them means nothing.
#[derive(Default)]
pub struct Spare {
    /// A trace's.
    pub instructions: Vec<Instruction>,
    pub(super) usages: Vec<Usage>,
    pub(super) live_flags: Vec<u64>,
    pub(super) map: Vec<MapEntry>,
    pub(super) pending: Vec<(usize, usize)>,
    pub(super) exits: Vec<Exit>,
    pub(super) descriptors: Vec<u64>,
    pub(super) code: Vec<u8>,
    pub(super) stubs: Vec<u8>,
    pub(super) arena: Vec<u8>,
}

impl Spare {
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
