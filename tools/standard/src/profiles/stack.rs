//! Lines by when they were touched last: how many others were touched since.
//!
//! ```text
//!   slice     each line's first touch, in order │ distances of all others │ lines, by their last touch
//!                         │                                                   │
//!                         ▼                                                   ▼
//!   total     looked up among what was touched before              is touched last
//! ```
//!
//! That the first touches of a slice are all that it can't know is Mattson's: *Evaluation techniques for storage hierarchies*, 1970.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use superpin_tool::AddressHasher;
use superpin_tool::serde::{Deserialize, Serialize};

/// Touches that there is a number for, at least, until all are numbered anew.
const NUMBERS: usize = 1 << 12;

/// Lines that were touched, and counts of distances.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    /// The number of each line's last touch.
    last: HashMap<u64, u32, BuildHasherDefault<AddressHasher>>,
    /// How many of these numbers there are, as a tree of sums (Fenwick's).
    sums: Vec<u32>,
    /// The next number.
    next: u32,
    /// What was touched last.
    recent: Option<u64>,
}

/// What a slice hands in.
#[derive(Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Part {
    /// Lines in the order of their first touches.
    pub first: Vec<u64>,
    /// The same lines, in the order of their last touches.
    pub last: Vec<u64>,
}

impl Stack {
    /// A line is touched: how many others were, since it was touched before. `None`: it wasn't.
    pub fn touch(&mut self, line: u64) -> Option<u64> {
        if self.recent == Some(line) {
            return Some(0);
        }
        let distance = self.take(line);
        self.push(line);
        distance
    }

    /// How many were touched since this line; it counts no longer as touched.
    fn take(&mut self, line: u64) -> Option<u64> {
        let number = self.last.remove(&line)?;
        let before = self.before(number);
        self.add(number, u32::MAX);
        self.recent = None;
        Some(self.last.len() as u64 - before)
    }

    fn push(&mut self, line: u64) {
        if self.next as usize + 1 >= self.sums.len() {
            self.number_anew();
        }
        self.last.insert(line, self.next);
        self.add(self.next, 1);
        self.next += 1;
        self.recent = Some(line);
    }

    /// Lines, by their last touches.
    pub fn lines(&self) -> Vec<u64> {
        let mut lines: Vec<(u32, u64)> = self.last.iter().map(|(line, number)| (*number, *line)).collect();
        lines.sort_unstable();
        lines.into_iter().map(|(_, line)| line).collect()
    }

    fn number_anew(&mut self) {
        let lines = self.lines();
        self.sums = vec![0; (4 * lines.len()).max(NUMBERS)];
        for (number, line) in lines.iter().enumerate() {
            self.last.insert(*line, number as u32);
            self.add(number as u32, 1);
        }
        self.next = lines.len() as u32;
    }

    /// A slice's part is put behind. `told` gets, for each line that it has touched first, what [`Self::touch`] would have said.
    pub fn append(&mut self, part: Part, mut told: impl FnMut(Option<u64>)) {
        for (touched, line) in part.first.iter().enumerate() {
            told(self.take(*line).map(|distance| distance + touched as u64));
        }
        part.last.into_iter().for_each(|line| self.push(line));
    }

    /// Numbers that there are below this one.
    fn before(&self, number: u32) -> u64 {
        let (mut sum, mut at) = (0, number as usize);
        while at > 0 {
            sum += u64::from(self.sums[at]);
            at &= at - 1;
        }
        sum
    }

    /// Adds to how often a number is there: one, or the greatest number for one less.
    fn add(&mut self, number: u32, more: u32) {
        let mut at = number as usize + 1;
        while let Some(sum) = self.sums.get_mut(at) {
            *sum = sum.wrapping_add(more);
            at += at & at.wrapping_neg();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(seed: u64) -> Vec<u64> {
        let mut state = seed;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 40
        };
        (0..9000).map(|n| random() % if n % 3 == 0 { 1500 } else { 30 }).collect()
    }

    /// By looking at all that was touched since.
    fn by_force(lines: &[u64]) -> Vec<Option<u64>> {
        let distance = |n: usize| {
            let before = lines[..n].iter().rposition(|line| *line == lines[n])?;
            let since: std::collections::BTreeSet<_> = lines[before + 1..n].iter().collect();
            Some(since.len() as u64)
        };
        (0..lines.len()).map(distance).collect()
    }

    #[test]
    fn distances_are_those_that_one_counts() {
        let lines = lines(1);
        let mut stack = Stack::default();
        let found: Vec<_> = lines.iter().map(|line| stack.touch(*line)).collect();
        assert!(found == by_force(&lines));
    }

    #[test]
    fn parts_make_a_whole_wherever_they_are_cut() {
        let lines = lines(2);
        let mut whole = by_force(&lines);
        whole.sort_unstable();
        for cut in [1, 10, 333, 5000] {
            let mut total = Stack::default();
            let mut found = Vec::new();
            for part in lines.chunks(cut) {
                let (mut stack, mut first) = (Stack::default(), Vec::new());
                for line in part {
                    match stack.touch(*line) {
                        None => first.push(*line),
                        known => found.push(known),
                    }
                }
                let last = stack.lines();
                total.append(Part { first, last }, |distance| found.push(distance));
            }
            found.sort_unstable();
            assert!(found == whole, "parts of {cut}");
        }
    }
}
