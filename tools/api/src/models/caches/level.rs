//! One cache of a slice: what it knows, and what it leaves open.

use serde::{Deserialize, Serialize};

use super::sets::{Found, Sets};
use super::shape::CacheShape;

/// What an access to a cache comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outcome {
    /// The line is there, or there is no access: nothing below is accessed.
    Hit,
    /// The cache below is accessed.
    Miss,
    /// The slices before decide: what the step of a cache comes to.
    Open(OpenStep),
}

/// A step of a cache that is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenStep {
    /// Which of the caches of its level.
    pub cache: u8,
    /// Its number there.
    pub step: u32,
}

/// What is open, in the order of execution.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Step<T> {
    /// A line is accessed that may be there since before the part began.
    Access { line: u64, tag: T },
    /// A line is accessed, if a step of a cache above is a miss.
    Perhaps { above: OpenStep, line: u64, tag: T },
    /// What is known of a set at this point, the latest line last: since a step that may or may not be made follows, it isn't known after that.
    Known { lines: Vec<u64> },
}

/// A cache.
///
/// Of each set it knows the lines that were used since the part began, or since the last access that may not have been made: if these fill the set, then it is known
/// what is there. Only before that the outcome of an access to another line is open. So it keeps at most as many steps as there are lines in the cache, and as many again
/// for the sets that an open step of a cache above comes to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Level<T> {
    number: u8,
    line_bits: u32,
    /// Whether it is known that there was nothing before.
    begins_empty: bool,
    sets: Sets,
    steps: Vec<Step<T>>,
}

impl<T: Copy> Level<T> {
    /// A cache, by its number in its level.
    pub fn new(shape: CacheShape, number: u8, begins_empty: bool) -> Self {
        let sets = Sets::new(shape.ways(), shape.sets());
        Self { number, line_bits: shape.line().trailing_zeros(), begins_empty, sets, steps: Vec::new() }
    }

    /// The same cache with nothing in it.
    pub fn emptied(&self) -> Self {
        Self { begins_empty: true, sets: self.sets.emptied(), steps: Vec::new(), ..*self }
    }

    /// The line that an address is in.
    pub fn line_of(&self, address: u64) -> u64 {
        address >> self.line_bits
    }

    /// An address of the line with this number.
    pub fn address_of(&self, line: u64) -> u64 {
        line << self.line_bits
    }

    /// Whether a line is known to be its set's latest one.
    #[inline]
    pub fn is_latest(&self, line: u64) -> bool {
        self.sets.is_latest(line)
    }

    /// Accesses a line, if that above is a miss. `tag` is asked only if it is kept.
    #[inline]
    pub fn access(&mut self, above: Outcome, line: u64, tag: impl FnOnce() -> T) -> Outcome {
        match above {
            Outcome::Hit => Outcome::Hit,
            Outcome::Miss => match self.sets.touch(line) {
                Found::Present => Outcome::Hit,
                Found::Absent => Outcome::Miss,
                Found::Unknown if self.begins_empty => Outcome::Miss,
                Found::Unknown => self.leave_open(Step::Access { line, tag: tag() }),
            },
            // It is there, and stays the latest one.
            Outcome::Open(_) if self.sets.is_latest(line) => Outcome::Hit,
            Outcome::Open(above) => {
                assert!(!self.begins_empty, "nothing is open in an execution that began with empty caches");
                let lines = self.sets.forget(line);
                if !lines.is_empty() {
                    self.steps.push(Step::Known { lines });
                }
                self.leave_open(Step::Perhaps { above, line, tag: tag() })
            }
        }
    }

    fn leave_open(&mut self, step: Step<T>) -> Outcome {
        let number = u32::try_from(self.steps.len()).expect("a slice has far fewer steps");
        self.steps.push(step);
        Outcome::Open(OpenStep { cache: self.number, step: number })
    }

    /// Tags of accesses that are open.
    pub fn tags_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.steps.iter_mut().filter_map(|step| match step {
            Step::Access { tag, .. } | Step::Perhaps { tag, .. } => Some(tag),
            Step::Known { .. } => None,
        })
    }

    /// Adds the part behind this one. `above` says what the open steps of the caches above have come to; what those of this one have come to is returned, and `missed` told of those
    /// that are misses.
    pub fn append(&mut self, next: Self, above: &[Vec<Outcome>], mut missed: impl FnMut(T)) -> Vec<Outcome> {
        let mut outcomes = Vec::with_capacity(next.steps.len());
        for step in next.steps {
            let (outcome, tag) = match step {
                Step::Access { line, tag } => (self.access(Outcome::Miss, line, || tag), Some(tag)),
                Step::Perhaps { above: OpenStep { cache, step }, line, tag } => {
                    (self.access(above[usize::from(cache)][step as usize], line, || tag), Some(tag))
                }
                Step::Known { lines } => {
                    // All of them were accessed by the steps before, or the set is full: nothing is open about them.
                    for line in lines {
                        self.sets.touch(line);
                    }
                    (Outcome::Hit, None)
                }
            };
            if let (Outcome::Miss, Some(tag)) = (outcome, tag) {
                missed(tag);
            }
            outcomes.push(outcome);
        }
        self.sets.touch_all(&next.sets);
        outcomes
    }
}
