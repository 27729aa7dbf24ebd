//! Branches of a part of the execution, kept in order.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use machine::AddressHasher;
use serde::{Deserialize, Serialize};

/// Branches in order: which ones, and whether they were taken.
///
/// A bit for each says whether it was taken. Which one comes next is mostly the one that came next the last time, behind the same branch with the same outcome: kept is how often in a row that is so, and which one it is where it isn't.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Branches {
    /// The addresses, each once, as they were executed first.
    addresses: Vec<u64>,
    taken: Vec<u8>,
    /// How many bits of the last byte are there.
    bits: u32,
    /// Pairs of numbers: how many branches came as the last time, and the index of the one that then came otherwise.
    others: Vec<u8>,
    /// How many came as the last time behind these.
    rest: u64,
}

/// Which branch came next, by the one before and whether that was taken.
#[derive(Clone, Debug)]
struct Successors {
    next: Vec<[u32; 2]>,
    before: (u32, bool),
}

const NONE: u32 = u32::MAX;

impl Default for Successors {
    /// The first branch comes behind one that isn't there, by the number 0.
    fn default() -> Self {
        Self { next: vec![[NONE; 2]], before: (0, false) }
    }
}

impl Successors {
    #[inline]
    fn expected(&self) -> u32 {
        self.next[self.before.0 as usize][usize::from(self.before.1)]
    }

    /// Another one comes than was expected.
    fn instead(&mut self, branch: u32) {
        let (before, taken) = self.before;
        self.next[before as usize][usize::from(taken)] = branch;
        if self.next.len() <= branch as usize + 1 {
            self.next.resize(branch as usize + 2, [NONE; 2]);
        }
    }

    #[inline]
    fn comes(&mut self, branch: u32, taken: bool) {
        self.before = (branch + 1, taken);
    }
}

/// What is needed to append branches.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    successors: Successors,
    indexes: HashMap<u64, u32, BuildHasherDefault<AddressHasher>>,
}

impl Writer {
    /// Appends a branch: always to the same ones, which were empty at first.
    #[inline]
    pub fn push(&mut self, branches: &mut Branches, address: u64, taken: bool) {
        let mut branch = self.successors.expected();
        if branches.addresses.get(branch as usize) == Some(&address) {
            branches.rest += 1;
        } else {
            let new = branches.addresses.len() as u32;
            branch = *self.indexes.entry(address).or_insert(new);
            if branch == new {
                branches.addresses.push(address);
            }
            put(&mut branches.others, std::mem::take(&mut branches.rest));
            put(&mut branches.others, branch.into());
            self.successors.instead(branch);
        }
        self.successors.comes(branch, taken);
        branches.push_taken(taken);
    }
}

impl Branches {
    #[inline]
    fn push_taken(&mut self, taken: bool) {
        if self.bits.is_multiple_of(8) {
            self.taken.push(0);
            self.bits = 0;
        }
        if let Some(last) = self.taken.last_mut() {
            *last |= u8::from(taken) << self.bits;
        }
        self.bits += 1;
    }

    /// Tells all branches in order.
    pub fn each(&self, mut told: impl FnMut(u64, bool)) {
        let mut successors = Successors::default();
        let mut bits = (0..self.taken.len() * 8).map(|bit| self.taken[bit / 8] >> (bit % 8) & 1 == 1);
        let mut tell = |successors: &mut Successors, branch: u32| {
            let taken = bits.next().expect("there are as many bits as branches");
            successors.comes(branch, taken);
            told(self.addresses[branch as usize], taken);
        };
        let mut others = self.others.as_slice();
        while !others.is_empty() {
            for _ in 0..get(&mut others) {
                let branch = successors.expected();
                tell(&mut successors, branch);
            }
            let branch = get(&mut others) as u32;
            successors.instead(branch);
            tell(&mut successors, branch);
        }
        for _ in 0..self.rest {
            let branch = successors.expected();
            tell(&mut successors, branch);
        }
    }
}

/// A number, seven bits a byte, the lowest ones first.
fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn get(bytes: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 {
            break;
        }
    }
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::random::Random;

    #[test]
    fn branches_come_back_as_they_came() {
        for seed in 0..300 {
            let mut random = Random::new(seed);
            let many = 1 + random.below(400);
            let count = random.below(3000);
            let mut at = 0;
            let all: Vec<(u64, bool)> = (0..count)
                .map(|_| {
                    at = if random.below(9) == 0 { random.below(many) } else { (at + 1) % many };
                    (at * 0x1234_5678_9abd, random.below(3) == 0)
                })
                .collect();
            let (mut branches, mut writer) = (Branches::default(), Writer::default());
            all.iter().for_each(|(address, taken)| writer.push(&mut branches, *address, *taken));
            let encoded = postcard::to_allocvec(&branches).unwrap();
            let mut found = Vec::new();
            postcard::from_bytes::<Branches>(&encoded).unwrap().each(|address, taken| found.push((address, taken)));
            assert!(found == all, "seed {seed}");
        }
    }
}
