//! TAGE, from the start of the execution on.

use serde::{Deserialize, Serialize};

use super::history::History;
use super::shape::{MOST_TABLES, TageShape};

/// An entry of a table.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Entry {
    tag: u16,
    /// From -4 to 3: from 0 on it predicts that the branch is taken.
    counter: i8,
    /// From 0 to 3: whether it has been right where a shorter history was wrong.
    useful: u8,
}

impl Entry {
    fn is_taken(self) -> bool {
        self.counter >= 0
    }

    /// As an entry is that hasn't learnt anything: it mostly has only just come.
    fn is_new(self) -> bool {
        self.useful == 0 && matches!(self.counter, -1 | 0)
    }
}

/// After so many branches one of the two bits of all useful counters is cleared, and the other one after as many more.
const USEFUL_FOR: u32 = 1 << 18;

/// The predictor. All counters and tags begin with 0.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// How many tables, and how many bits number an entry of each.
    tables: usize,
    entry_bits: u32,
    /// Counters from 0 to 3.
    base: Vec<u8>,
    /// The tables, one behind the other.
    entries: Vec<Entry>,
    history: History,
    /// From -8 to 7: from 0 on new entries are not believed, but what is predicted without them.
    doubts_new: i8,
    branches: u32,
    clears_low: bool,
    /// Of the numbers that choose where an entry is allocated.
    chance: u32,
}

/// A counter goes one up or down, and stays between the two ends.
fn step<N: PartialOrd + Copy + std::ops::AddAssign + std::ops::SubAssign + From<bool>>(
    counter: &mut N,
    up: bool,
    [least, most]: [N; 2],
) {
    if up && *counter < most {
        *counter += N::from(true);
    } else if !up && *counter > least {
        *counter -= N::from(true);
    }
}

impl Machine {
    pub fn new(shape: TageShape) -> Self {
        Self {
            tables: shape.tables(),
            entry_bits: shape.entry_bits(),
            base: vec![0; 1 << shape.base_bits()],
            entries: vec![Entry::default(); shape.tables() << shape.entry_bits()],
            history: History::new(shape.lengths(), shape.entry_bits(), shape.tag_bits()),
            doubts_new: 0,
            branches: 0,
            clears_low: false,
            chance: 0x2545_f491,
        }
    }

    /// A conditional branch is executed: whether it was predicted wrongly.
    pub fn branch(&mut self, address: u64, taken: bool) -> bool {
        let (indexes, tags) = self.history.places(address);
        let mut places = [(0, 0); MOST_TABLES];
        let mut matching = 0_u32;
        for (table, place) in places[..self.tables].iter_mut().enumerate() {
            let index = table << self.entry_bits | usize::from(indexes[table]);
            *place = (index as u32, tags[table]);
            matching |= u32::from(self.entries[index].tag == tags[table]) << table;
        }
        let places = &places[..self.tables];
        let base = address as usize & (self.base.len() - 1);
        let base_taken = self.base[base] >= 2;
        let wrong = match matching.checked_ilog2() {
            None => {
                step(&mut self.base[base], taken, [0, 3]);
                if base_taken != taken {
                    self.allocate(places, taken);
                }
                base_taken != taken
            }
            Some(provider) => {
                let shorter = (matching ^ 1 << provider).checked_ilog2();
                let other =
                    shorter.map_or(base_taken, |table| self.entries[places[table as usize].0 as usize].is_taken());
                self.provided(&places[provider as usize..], other, taken)
            }
        };
        self.history.push(address, taken);
        self.age();
        wrong
    }

    /// The first of these places has the longest history that matches, `other` is predicted without it.
    fn provided(&mut self, places: &[(u32, u16)], other: bool, taken: bool) -> bool {
        let entry = &mut self.entries[places[0].0 as usize];
        let (provided, is_new) = (entry.is_taken(), entry.is_new());
        let predicted = if is_new && self.doubts_new >= 0 { other } else { provided };
        if provided != other {
            step(&mut entry.useful, provided == taken, [0, 3]);
            if is_new {
                step(&mut self.doubts_new, other == taken, [-8, 7]);
            }
        }
        step(&mut entry.counter, taken, [-4, 3]);
        // A new entry that is right needs no longer history.
        if predicted != taken && !(is_new && provided == taken) {
            self.allocate(&places[1..], taken);
        }
        predicted != taken
    }

    /// The branch gets an entry in one of these places that isn't useful: in the first with a chance of a half, else in the next with a chance of a half, and so on. Where all are useful they become less so.
    fn allocate(&mut self, places: &[(u32, u16)], taken: bool) {
        let free = places.iter().filter(|(index, _)| self.entries[*index as usize].useful == 0);
        let last = match free.clone().count() {
            0 => {
                places.iter().for_each(|(index, _)| self.entries[*index as usize].useful -= 1);
                return;
            }
            count => count - 1,
        };
        // Marsaglia's xorshift: the same numbers in each run.
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 17;
        self.chance ^= self.chance << 5;
        let chosen = free.copied().nth(last.min(self.chance.trailing_ones() as usize));
        if let Some((index, tag)) = chosen {
            self.entries[index as usize] = Entry { tag, counter: if taken { 0 } else { -1 }, useful: 0 };
        }
    }

    fn age(&mut self) {
        self.branches += 1;
        if self.branches == USEFUL_FOR {
            let kept = if self.clears_low { 0b10 } else { 0b01 };
            self.entries.iter_mut().for_each(|entry| entry.useful &= kept);
            (self.branches, self.clears_low) = (0, !self.clears_low);
        }
    }
}
