//! Which branches were taken, folded.

use serde::{Deserialize, Serialize};

use super::shape::MOST_TABLES;

/// For each table the branches of its history, by exclusive or folded to so many bits: the `i`th branch back, from 0 on, comes to bit `i % width`.
///
/// It is kept up by each branch, not folded again: all bits go one up, the highest one to the lowest, the new one comes in, and the one that is too old is taken out where it has got to.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Folded {
    width: u32,
    values: Each,
    /// The bit at which the oldest branch leaves.
    leaves: Each,
}

/// A number for each table. As many as there might be, and 16 bits: so all of them are a few instructions of vectors. Loops over them are by index: `zip` isn't inlined where a crate is compiled in several parts.
type Each = [u16; MOST_TABLES];

impl Folded {
    fn new(width: u32, lengths: impl Iterator<Item = u32>) -> Self {
        let mut leaves = [0; MOST_TABLES];
        leaves.iter_mut().zip(lengths).for_each(|(bit, length)| *bit = 1 << (length % width));
        Self { width, values: [0; MOST_TABLES], leaves }
    }

    fn mask(&self) -> u16 {
        (1 << self.width) - 1
    }

    /// A bit comes in, and in each table one leaves: the table's bit of `oldest`.
    #[inline]
    fn push(&mut self, new: bool, oldest: u16) {
        let (width, mask, new) = (self.width, self.mask(), u16::from(new));
        for (table, value) in self.values.iter_mut().enumerate() {
            let leaving = if oldest & TABLES[table] == TABLES[table] { self.leaves[table] } else { 0 };
            let moved = (*value << 1 | new) ^ leaving;
            *value = (moved ^ moved >> width) & mask;
        }
    }
}

/// A bit for each table.
const TABLES: Each = {
    let (mut bits, mut table) = ([0; MOST_TABLES], 0);
    while table < MOST_TABLES {
        bits[table] = 1 << table;
        table += 1;
    }
    bits
};

/// How many of the last branches' addresses take part, at most.
const PATH: u32 = 16;

/// The last branches.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct History {
    lengths: Vec<u32>,
    /// In a circle: whether they were taken, 0 or 1, the latest one at `latest`, older ones behind it.
    taken: Vec<u8>,
    latest: usize,
    indexes: Folded,
    /// For tags, by two widths: what the one folds to the same is told apart by the other.
    tags: [Folded; 2],
    /// The lowest bits of the branches' addresses, the latest one's the lowest; and folded.
    path: u32,
    paths: Folded,
}

impl History {
    /// No branch was taken.
    pub fn new(lengths: Vec<u32>, entry_bits: u32, tag_bits: u32) -> Self {
        let places = lengths.iter().max().map_or(1, |longest| longest.next_power_of_two());
        let folded = |width| Folded::new(width, lengths.iter().copied());
        let (indexes, tags) = (folded(entry_bits), [folded(tag_bits), folded(tag_bits - 1)]);
        let paths = Folded::new(entry_bits, lengths.iter().map(|length| PATH.min(*length)));
        Self { taken: vec![0; places as usize], latest: 0, indexes, tags, path: 0, paths, lengths }
    }

    /// A branch is executed.
    #[inline]
    pub fn push(&mut self, address: u64, taken: bool) {
        let (mut oldest, mut oldest_address) = (0, 0);
        let last = self.taken.len() - 1;
        for (table, length) in self.lengths.iter().enumerate() {
            let age = length - 1;
            oldest |= u16::from(self.taken[(self.latest + age as usize) & last]) << table;
            oldest_address |= ((self.path >> age.min(PATH - 1) & 1) as u16) << table;
        }
        let is_odd = address & 1 == 1;
        self.indexes.push(taken, oldest);
        self.tags.iter_mut().for_each(|folded| folded.push(taken, oldest));
        self.paths.push(is_odd, oldest_address);
        self.latest = self.latest.wrapping_sub(1) & last;
        self.taken[self.latest] = taken.into();
        self.path = self.path << 1 | u32::from(is_odd);
    }

    /// For each table which entry is a branch's, and its tag.
    #[inline]
    pub fn places(&self, address: u64) -> (Each, Each) {
        let width = self.indexes.width;
        let (mask, half) = (self.indexes.mask(), width / 2);
        let of_address = (address ^ address >> width) as u16;
        let mut indexes = self.indexes.values;
        for (table, index) in indexes.iter_mut().enumerate() {
            let path = self.paths.values[table];
            // Turned, so that a branch's address and its outcome don't meet.
            *index = (*index ^ of_address ^ path << half ^ path >> (width - half)) & mask;
        }
        let [one, other] = &self.tags;
        let mut tags = one.values;
        for (table, tag) in tags.iter_mut().enumerate() {
            *tag = (*tag ^ address as u16 ^ other.values[table] << 1) & one.mask();
        }
        (indexes, tags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::random::Random;

    /// Bit for bit, from the whole history.
    fn simply(taken: &[bool], length: u32, width: u32) -> u16 {
        let back = taken.iter().rev().take(length as usize).enumerate();
        back.fold(0, |folded, (age, taken)| folded ^ u16::from(*taken) << (age as u32 % width))
    }

    #[test]
    fn folded_is_what_folding_the_whole_history_gives() {
        for seed in 0..100 {
            let mut random = Random::new(seed);
            let mut lengths: Vec<u32> = (0..1 + random.below(16)).map(|_| 1 + random.below(200) as u32).collect();
            lengths[0] = [1, 16, 64, 4096][random.below(4) as usize];
            let (entry_bits, tag_bits) = (1 + random.below(15) as u32, 2 + random.below(14) as u32);
            let mut history = History::new(lengths.clone(), entry_bits, tag_bits);
            let mut taken = Vec::new();
            for _ in 0..(if lengths[0] == 4096 { 5000 } else { 600 }) {
                taken.push(random.below(3) == 0);
                history.push(random.below(1 << 40), *taken.last().unwrap());
                if random.below(20) > 0 {
                    continue;
                }
                for (table, length) in lengths.iter().enumerate() {
                    for folded in [&history.indexes, &history.tags[0], &history.tags[1]] {
                        let expected = simply(&taken, *length, folded.width);
                        assert_eq!(folded.values[table], expected, "seed {seed}, {length} to {}", folded.width);
                    }
                }
            }
        }
    }
}
