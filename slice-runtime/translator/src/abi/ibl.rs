//! The tables of indirect branches, and a target's place in them.

use std::sync::atomic::AtomicU64;

use bubble::switches::{Off, Optimisation};
use machine::AppPc;

/// Link words of branches through constant pointers: see the engine's `link_words`.
pub const LINK_WORDS: usize = 1 << 12;

/// Entries of the indirect-branch table: one for each value of 16 bits of the target.
pub const INDIRECT_ENTRIES: usize = 1 << 16;

/// The tables of indirect branches, entered by 16 bits of the target. In a slice they may be a private view of what slices have in
/// common, see the engine's `shared_tables`: then they have whole pages.
#[repr(C, align(4096))]
pub struct IndirectTables {
    /// Cache pcs of IBL stubs. Branches go to those of the first table. A shared IBL stub that was made for another target goes on to the same place of the
    /// next one. Outside of such a view only the first is used.
    pub(super) levels: [[AtomicU64; INDIRECT_ENTRIES]; Level::ALL.len()],
}

impl IndirectTables {
    /// One of the tables.
    #[inline]
    pub fn level(&self, level: Level) -> &[AtomicU64; INDIRECT_ENTRIES] {
        &self.levels[level as usize]
    }
}

/// One of the tables of indirect branches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The one that branches use.
    First = 0,
    /// The one after it.
    Second = 1,
    /// The last.
    Third = 2,
}

impl Level {
    /// All, in the order in which they are used.
    pub const ALL: [Level; 3] = [Level::First, Level::Second, Level::Third];

    /// The one that is used after this one.
    pub fn next(self) -> Option<Level> {
        Self::ALL.get(self as usize + 1).copied()
    }
}

/// How many of a target's lowest bits its place in the tables doesn't depend on.
///
/// Waiting for these tables is what costs large programs most. Return addresses are some ten bytes apart: without these bits the entries of neighbouring
/// calls lie in one cache line. To drop bits without touching flags takes an instruction of BMI2.
#[inline]
pub fn dropped_bits(off: Off) -> u8 {
    if off.leaves(Optimisation::Neighbours) { 4 } else { 0 }
}

/// Index of a target in the tables of indirect branches.
#[inline]
pub fn index_of(target: AppPc, off: Off) -> usize {
    (target.0 >> dropped_bits(off)) as usize % INDIRECT_ENTRIES
}
