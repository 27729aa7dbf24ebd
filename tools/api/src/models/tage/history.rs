//! Which branches were taken, folded.

use serde::{Deserialize, Serialize};

use super::shape::MOST_TABLES;

/// For each table the branches of its history, by exclusive or folded to so many bits: the `i`th branch back, from 0 on, comes to bit `i % width`.
///
/// It is kept up by each branch, not folded again: all bits go one up, the highest one to the lowest, the new one comes in, and the one that is too old is taken out where it has got to.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Folded {
    width: u32,
    values: [u32; MOST_TABLES],
    /// The bit at which the oldest branch leaves.
    leaves: [u32; MOST_TABLES],
}

impl Folded {
    fn new(width: u32, lengths: &[u32]) -> Self {
        let mut leaves = [0; MOST_TABLES];
        leaves.iter_mut().zip(lengths).for_each(|(bit, length)| *bit = 1 << (length % width));
        Self { width, values: [0; MOST_TABLES], leaves }
    }

    /// A branch comes in, 0 or 1, and in each table one leaves, 0 or all bits.
    #[inline]
    fn push(&mut self, taken: u32, oldest: &[u32; MOST_TABLES]) {
        let mask = (1 << self.width) - 1;
        // As many as there might be: so these are instructions of vectors.
        for ((value, leaves), oldest) in self.values.iter_mut().zip(&self.leaves).zip(oldest) {
            let moved = (*value << 1 | taken) ^ oldest & leaves;
            *value = (moved ^ moved >> self.width) & mask;
        }
    }
}

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
    /// The lowest bits of the branches' addresses, the latest one's the lowest.
    path: u32,
}

impl History {
    /// No branch was taken.
    pub fn new(lengths: Vec<u32>, entry_bits: u32, tag_bits: u32) -> Self {
        let places = lengths.iter().max().map_or(1, |longest| longest.next_power_of_two());
        let folded = |width| Folded::new(width, &lengths);
        let (indexes, tags) = (folded(entry_bits), [folded(tag_bits), folded(tag_bits - 1)]);
        Self { taken: vec![0; places as usize], latest: 0, indexes, tags, path: 0, lengths }
    }

    #[inline]
    fn at(&self, age: u32) -> u8 {
        self.taken[(self.latest + age as usize) & (self.taken.len() - 1)]
    }

    /// A branch is executed.
    #[inline]
    pub fn push(&mut self, address: u64, taken: bool) {
        let mut oldest = [0; MOST_TABLES];
        for (oldest, length) in oldest.iter_mut().zip(&self.lengths) {
            *oldest = 0_u32.wrapping_sub(u32::from(self.at(length - 1)));
        }
        self.indexes.push(taken.into(), &oldest);
        self.tags.iter_mut().for_each(|folded| folded.push(taken.into(), &oldest));
        self.latest = self.latest.wrapping_sub(1) & (self.taken.len() - 1);
        self.taken[self.latest] = taken.into();
        self.path = self.path << 1 | address as u32 & 1;
    }

    /// Which entry of a table is a branch's.
    #[inline]
    pub fn index(&self, table: usize, address: u64) -> usize {
        let width = self.indexes.width;
        let path = self.path & ((1 << self.lengths[table].min(16)) - 1);
        // Turned by the table's number, so that the path doesn't meet the same branches' outcomes.
        let path = (path ^ path >> width) << (1 + table as u32 % 8);
        let address = address as u32;
        ((address ^ address >> width ^ self.indexes.values[table] ^ path ^ path >> width) & ((1 << width) - 1)) as usize
    }

    /// The tag of a branch in a table.
    #[inline]
    pub fn tag(&self, table: usize, address: u64) -> u16 {
        let [one, other] = &self.tags;
        ((address as u32 ^ one.values[table] ^ other.values[table] << 1) & ((1 << one.width) - 1)) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::random::Random;

    /// Bit for bit, from the whole history.
    fn simply(taken: &[bool], length: u32, width: u32) -> u32 {
        let back = taken.iter().rev().take(length as usize).enumerate();
        back.fold(0, |folded, (age, taken)| folded ^ u32::from(*taken) << (age as u32 % width))
    }

    #[test]
    fn folded_is_what_folding_the_whole_history_gives() {
        for seed in 0..100 {
            let mut random = Random::new(seed);
            let mut lengths: Vec<u32> = (0..1 + random.below(16)).map(|_| 1 + random.below(200) as u32).collect();
            lengths[0] = [1, 16, 64, 4096][random.below(4) as usize];
            let (entry_bits, tag_bits) = (1 + random.below(16) as u32, 2 + random.below(15) as u32);
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
