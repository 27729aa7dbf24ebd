//! Who has allocated memory last.

use std::collections::BTreeMap;

use superpin_tool::merge::Merge;
use superpin_tool::serde::{Deserialize, Serialize};

/// Bits of an address within a granule: what allocators give out is aligned to so much.
pub const GRANULE_BITS: u32 = 4;

/// The granule of an address.
pub fn granule(address: u64) -> u64 {
    address >> GRANULE_BITS
}

/// Memory that was allocated, each granule with who has allocated it last: who has called the routine that allocates, by where that was to return to. It stays so when it is freed, until somebody
/// allocates it again: so a part of the execution needn't know which blocks there were before it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Owners {
    /// By the first granule: the one behind the last, and the owner.
    ranges: BTreeMap<u64, (u64, u64)>,
}

impl Owners {
    /// A block was allocated.
    pub fn own(&mut self, address: u64, size: u64, owner: u64) {
        let end = granule(address.saturating_add(size.max(1) - 1)) + 1;
        self.own_granules(granule(address), end, owner);
    }

    /// The owner of a granule.
    pub fn of(&self, granule: u64) -> Option<u64> {
        let (_, (end, owner)) = self.ranges.range(..=granule).next_back()?;
        (granule < *end).then_some(*owner)
    }

    fn own_granules(&mut self, start: u64, end: u64, owner: u64) {
        // Nearly always a block takes the place of one that was as large.
        if let Some(there) = self.ranges.get_mut(&start).filter(|(last, _)| *last == end) {
            there.1 = owner;
            return;
        }
        if let Some((&before, there)) = self.ranges.range_mut(..start).next_back()
            && there.0 > start
        {
            debug_assert!(before < start);
            let (last, old) = *there;
            there.0 = start;
            if last > end {
                self.ranges.insert(end, (last, old));
            }
        }
        while let Some((&inside, &(last, old))) = self.ranges.range(start..end).next() {
            self.ranges.remove(&inside);
            if last > end {
                self.ranges.insert(end, (last, old));
            }
        }
        self.ranges.insert(start, (end, owner));
    }
}

impl Merge for Owners {
    fn merge(&mut self, next: Self) {
        if self.ranges.is_empty() {
            *self = next;
            return;
        }
        next.ranges.into_iter().for_each(|(start, (end, owner))| self.own_granules(start, end, owner));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn each_granule_is_of_who_has_allocated_it_last() {
        let mut state = 1_u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        for _ in 0..200 {
            let mut simply = HashMap::new();
            let mut parts = [Owners::default(), Owners::default(), Owners::default()];
            for (number, owners) in parts.iter_mut().enumerate() {
                for step in 0..15 {
                    let (address, size, owner) = (random(1000), random(120), number as u64 * 100 + step);
                    owners.own(address, size, owner);
                    for byte in address..address + size.max(1) {
                        simply.insert(granule(byte), owner);
                    }
                }
            }
            let [mut all, second, third] = parts;
            all.merge(second);
            all.merge(third);
            for granule in 0..80 {
                assert_eq!(all.of(granule), simply.get(&granule).copied(), "{granule}: {all:?}");
            }
        }
    }
}
