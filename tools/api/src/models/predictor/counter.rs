//! A two-bit counter whose value at the start isn't known, as a function of that.

use serde::{Deserialize, Serialize};

/// For each of the values from 0 to 3 that a counter may have had at the start, what it is now: two bits each, that of 0 the lowest ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter(u8);

/// Which of the four predict wrongly, a bit each.
pub type Wrong = u8;

const VALUES: usize = 4;

const fn step(map: u8, taken: bool) -> (u8, Wrong) {
    let (mut next, mut wrong, mut value) = (0, 0, 0);
    while value < VALUES {
        let now = map >> (2 * value) & 3;
        let then = match (taken, now) {
            (true, 3) => 3,
            (true, _) => now + 1,
            (false, 0) => 0,
            (false, _) => now - 1,
        };
        next |= then << (2 * value);
        if (now >= 2) != taken {
            wrong |= 1 << value;
        }
        value += 1;
    }
    (next, wrong)
}

const fn steps(taken: bool) -> [(u8, Wrong); 256] {
    let mut all = [(0, 0); 256];
    let mut map = 0;
    while map < 256 {
        all[map] = step(map as u8, taken);
        map += 1;
    }
    all
}

static STEPS: [[(u8, Wrong); 256]; 2] = [steps(false), steps(true)];

impl Counter {
    /// It is what it was.
    pub const UNKNOWN: Self = Self(0b11_10_01_00);
    /// It is 0, whatever it was: strongly not taken.
    pub const ZERO: Self = Self(0);
    /// All four predict wrongly.
    pub const ALL_WRONG: Wrong = 0b1111;

    /// A branch is taken, or not.
    #[inline]
    pub fn step(&mut self, taken: bool) -> Wrong {
        let (next, wrong) = STEPS[usize::from(taken)][usize::from(self.0)];
        self.0 = next;
        wrong
    }

    /// What a value at the start has become, or a number for each of the four with it.
    pub fn after(self, value: usize) -> usize {
        usize::from(self.0 >> (2 * value) & 3)
    }

    /// What comes of this one if `next` follows.
    pub fn then(self, next: Self) -> Self {
        let value = |start: usize| (next.after(self.after(start)) as u8) << (2 * start);
        Self((0..VALUES).map(value).sum())
    }

    /// How often each of the four was wrong in what follows, if `next` says that by the values that it began with.
    pub fn wrong_then(self, next: [u64; VALUES]) -> [u64; VALUES] {
        std::array::from_fn(|start| next[self.after(start)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_counter_is_what_each_of_four_is() {
        let mut map = Counter::UNKNOWN;
        let mut four = [0_i32, 1, 2, 3];
        for taken in [true, false, false, true, true, false, false, false, true, true, true] {
            let wrong = map.step(taken);
            for (start, value) in four.iter_mut().enumerate() {
                assert_eq!(wrong >> start & 1 == 1, (*value >= 2) != taken);
                *value = (*value + if taken { 1 } else { -1 }).clamp(0, 3);
                assert_eq!(map.after(start), *value as usize);
            }
        }
        let twice = map.then(map);
        assert!((0..4).all(|start| twice.after(start) == map.after(map.after(start))));
        assert_eq!(Counter::ZERO.then(map).after(3), map.after(0));
    }
}
