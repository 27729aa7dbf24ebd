//! Sets of registered mappings.

use bubble::code_files::MAX_FILES;

/// A set of registered mappings, by number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionSet([u64; MAX_FILES / 64]);

impl RegionSet {
    /// Adds one.
    pub fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// How many there are.
    pub fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether it is in the set.
    pub fn contains(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 != 0
    }

    /// Whether all of these are in `other`.
    pub fn is_subset(&self, other: &RegionSet) -> bool {
        self.0.iter().zip(&other.0).all(|(mine, theirs)| mine & !theirs == 0)
    }
}
