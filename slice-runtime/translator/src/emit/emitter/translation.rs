//! What comes out.

use machine::AppPc;

use crate::abi::{CountedBlock, TraceExit};

/// A finished translation, to be written at its site.
pub struct Translation {
    /// Machine code.
    pub code: Vec<u8>,
    /// Exit stubs, which lie elsewhere so that code which runs lies close together.
    pub stubs: Vec<u8>,
    /// Exits, in the order of their numbers.
    pub exits: Vec<TraceExit>,
    /// Bytes for the arena: descriptors, state map, block-level calls, app code.
    pub arena: Vec<u8>,
    /// Arena offset of the state map.
    pub map: u32,
    /// Its entries.
    pub map_len: u32,
    /// Block-level calls after it.
    pub block_calls: u32,
    /// Buffer marks after those.
    pub buffer_marks: u32,
    /// Call marks after those.
    pub call_marks: u32,
    /// Blocks that are counted, in the order of their counters.
    pub counted: Vec<CountedBlock>,
    /// Whether it compares its app code itself when it is entered.
    pub self_checks: bool,
}

/// An instruction that can't be translated, with the reason. The app's pc and text are in it.
#[derive(Debug, thiserror::Error)]
#[error("cannot translate {instruction} at {pc}: {reason}")]
pub struct Untranslatable {
    pub(in crate::emit) pc: AppPc,
    pub(in crate::emit) instruction: String,
    pub(in crate::emit) reason: &'static str,
}
