//! Misses by instruction.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use superpin_tool::merge::Merge;
use superpin_tool::serde::{Deserialize, Serialize};
use superpin_tool::{AddressHasher, AppPc, CodeAddress};

use crate::caches::seen::{LEVELS, Missed, Misses};
use crate::caches::words::{Access, KINDS};

/// What is counted of an instruction while it is executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Counts {
    /// Accesses of which there may be another number each time, by kind. All others follow from how often it was executed.
    pub counted: [u64; KINDS.len()],
    /// Misses of TLBs, by kind.
    pub tlbs: [u64; KINDS.len()],
    /// Misses of caches, by level and kind.
    pub caches: [[u64; KINDS.len()]; LEVELS],
}

impl Merge for Counts {
    fn merge(&mut self, next: Self) {
        let mut all = self.counted.iter_mut().chain(&mut self.tlbs).chain(self.caches.as_flattened_mut());
        let more = next.counted.iter().chain(&next.tlbs).chain(next.caches.as_flattened());
        all.by_ref().zip(more).for_each(|(sum, more)| *sum = sum.wrapping_add(*more));
    }
}

/// By the instruction's address in its program. Of most there is nothing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde", from = "Vec<(u64, Counts)>", into = "Vec<(u64, Counts)>")]
pub struct ByPlace {
    counts: HashMap<u64, Counts, BuildHasherDefault<AddressHasher>>,
    /// The program that is executed: address 0 in it.
    here: u64,
}

impl ByPlace {
    /// Nothing yet of the program that is executed.
    pub fn begin() -> Self {
        Self { here: CodeAddress::here(AppPc(0)).to_bits(), ..Self::default() }
    }
}

impl From<Vec<(u64, Counts)>> for ByPlace {
    fn from(counts: Vec<(u64, Counts)>) -> Self {
        Self { counts: counts.into_iter().collect(), here: 0 }
    }
}

impl From<ByPlace> for Vec<(u64, Counts)> {
    fn from(ByPlace { counts, .. }: ByPlace) -> Self {
        let mut counts: Self = counts.into_iter().collect();
        counts.sort_unstable_by_key(|(address, _)| *address);
        counts
    }
}

impl Merge for ByPlace {
    fn merge(&mut self, next: Self) {
        for (address, counts) in next.counts {
            self.counts.entry(address).or_default().merge(counts);
        }
    }
}

/// Bits of a kind in a tag.
const KIND_BITS: u32 = 2;

impl Misses for ByPlace {
    /// Address in its program, of which the two highest bits are 0, and kind.
    type Tag = u64;

    #[inline(always)]
    fn note(&mut self, access: &Access) {
        if access.is_counted {
            self.counts.entry(self.here | access.place).or_default().counted[usize::from(access.kind)] += 1;
        }
    }

    #[inline(always)]
    fn of(&mut self, access: &Access) -> (impl Fn() -> u64, impl FnMut(u64, Missed)) {
        let tag = (self.here | access.place) << KIND_BITS | u64::from(access.kind);
        (move || tag, |tag, missed| self.count(tag, missed))
    }

    fn count(&mut self, tag: u64, missed: Missed) {
        let counts = self.counts.entry(tag >> KIND_BITS).or_default();
        let kinds = match missed {
            Missed::Tlb => &mut counts.tlbs,
            Missed::Cache(level) => &mut counts.caches[level],
        };
        kinds[tag as usize & ((1 << KIND_BITS) - 1)] += 1;
    }
}
