//! How many bytes there were in the course of the run, in a fixed room.
//!
//! Time is cut into intervals of a power of two of instructions, by the count since the run's first instruction. Of each interval in which something changed there is by how much, and when the last time. Where there are too many, intervals become
//! twice as long. So what remains depends on what happened and when, and not on who has seen which part of it.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use superpin_tool::serde::{Deserialize, Serialize};

/// Intervals that are kept.
const LIMIT: usize = 128;

/// Bytes that there are, or by how many they change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Size {
    /// That the app has asked for.
    pub bytes: i64,
    /// That the allocator needs besides.
    pub extra: i64,
}

impl Size {
    /// Of a block of so many bytes, as massif counts: rounded up to 16, and 8 more to administer it.
    pub fn of_block(bytes: u64) -> Self {
        Self { bytes: bytes as i64, extra: (bytes.wrapping_neg() % 16) as i64 + 8 }
    }

    /// What goes if that goes.
    pub fn gone(self) -> Self {
        Self { bytes: -self.bytes, extra: -self.extra }
    }

    /// All of it.
    pub fn total(self) -> i64 {
        self.bytes + self.extra
    }
}

impl AddAssign for Size {
    fn add_assign(&mut self, more: Self) {
        self.bytes += more.bytes;
        self.extra += more.extra;
    }
}

/// Of one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
struct Sample {
    last: u64,
    change: Size,
}

/// Of all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Samples {
    /// An interval is two to the power of this.
    shift: u32,
    /// By number.
    intervals: BTreeMap<u64, Sample>,
}

impl Samples {
    /// Then it changes by so much.
    pub fn change(&mut self, at: u64, change: Size) {
        self.add(at >> self.shift, Sample { last: at, change });
    }

    /// What another part of the run has seen comes to this. In which order doesn't matter.
    pub fn merge(&mut self, other: Self) {
        while self.shift < other.shift {
            self.widen();
        }
        for sample in other.intervals.into_values() {
            self.add(sample.last >> self.shift, sample);
        }
    }

    /// When it changed last in each interval, and how many bytes there were from then on.
    pub fn points(&self) -> impl Iterator<Item = (u64, Size)> {
        let mut size = Size::default();
        self.intervals.values().map(move |sample| {
            size += sample.change;
            (sample.last, size)
        })
    }

    fn add(&mut self, interval: u64, sample: Sample) {
        let sum = self.intervals.entry(interval).or_default();
        sum.last = sum.last.max(sample.last);
        sum.change += sample.change;
        while self.intervals.len() > LIMIT {
            self.widen();
        }
    }

    fn widen(&mut self) {
        self.shift += 1;
        for (interval, sample) in std::mem::take(&mut self.intervals) {
            let sum = self.intervals.entry(interval >> 1).or_default();
            sum.last = sample.last;
            sum.change += sample.change;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(changes: &[(u64, i64)]) -> Samples {
        let mut samples = Samples::default();
        changes.iter().for_each(|(at, bytes)| samples.change(*at, Size { bytes: *bytes, extra: 1 }));
        samples
    }

    #[test]
    fn what_is_kept_does_not_depend_on_who_has_seen_it() {
        let changes: Vec<(u64, i64)> =
            (1..3000).map(|n| (n * n * 7 % 1_000_003 + n * 50, (n % 13) as i64 - 5)).collect();
        let all = of(&changes);
        assert!(all.intervals.len() > LIMIT / 4 && all.intervals.len() <= LIMIT);
        for cut in [1, 2, 500, 1499, 2998] {
            let (first, second) = changes.split_at(cut);
            for (one, other) in [(first, second), (second, first)] {
                let mut both = of(one);
                both.merge(of(other));
                assert_eq!(both, all);
            }
        }
    }

    #[test]
    fn points_are_where_something_changed() {
        let points: Vec<_> = of(&[(5, 10), (9, 20), (7, -4)]).points().map(|(at, size)| (at, size.bytes)).collect();
        assert_eq!(points, [(5, 10), (7, 6), (9, 26)]);
        // Too many: intervals of 16.
        let many: Vec<(u64, i64)> = (0..1000).map(|n| (n * 2 + 1, 1)).collect();
        let points: Vec<_> = of(&many).points().map(|(at, size)| (at, size.bytes)).collect();
        assert_eq!((points.len(), points[0], points[124]), (125, (15, 8), (1999, 1000)));
    }

    #[test]
    fn an_allocator_rounds_up() {
        let extra = |bytes| Size::of_block(bytes).extra;
        assert_eq!([0, 1, 16, 17].map(extra), [8, 23, 8, 23]);
    }
}
