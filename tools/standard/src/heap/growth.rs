//! How many bytes there are over time, when they are the most, and who has allocated what there is then.
//!
//! A slice doesn't know the size of blocks that earlier ones have allocated. What it frees of them only makes the heap smaller, by more and more. So the run's peak can be in this slice only where
//! more was allocated than freed of what it knows, and more than at any such place before in it. These places it keeps, with what has changed from one to the next; of those between which nothing of unknown size was freed the last one alone.

use std::collections::BTreeMap;

use superpin_tool::serde::{Deserialize, Serialize};

use super::samples::{Samples, Size};

/// What has changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
struct Change {
    size: Size,
    /// Bytes by the number of the stack that has allocated them.
    stacks: BTreeMap<u32, i64>,
}

impl Change {
    fn add(&mut self, stack: u32, size: Size) {
        self.size += size;
        *self.stacks.entry(stack).or_default() += size.bytes;
    }

    fn append(&mut self, next: Self) {
        self.size += next.size;
        for (stack, bytes) in next.stacks.into_iter().filter(|(_, bytes)| *bytes != 0) {
            *self.stacks.entry(stack).or_default() += bytes;
        }
    }

    fn renumber(&mut self, numbers: &[u32]) {
        let stacks = std::mem::take(&mut self.stacks);
        for (stack, bytes) in stacks {
            *self.stacks.entry(numbers[stack as usize]).or_default() += bytes;
        }
    }

    fn held(&self) -> Held {
        let stacks = self.stacks.iter().filter(|(_, bytes)| **bytes > 0);
        Held { size: self.size, stacks: stacks.map(|(stack, bytes)| (*stack, *bytes as u64)).collect() }
    }
}

/// Where the heap may be at its greatest, and what has changed since the last such place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
struct High {
    at: u64,
    change: Change,
}

/// A block that was freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// When.
    pub at: u64,
    /// The number of the stack that has allocated it.
    pub stack: u32,
    /// Its size.
    pub size: Size,
}

/// What there is at one time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// How much.
    pub size: Size,
    /// Bytes by the number of the stack that has allocated them.
    pub stacks: BTreeMap<u32, u64>,
}

/// Of a part of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Growth {
    highs: Vec<High>,
    /// Whether the last of them can't become higher: something of unknown size was freed since then.
    is_closed: bool,
    /// What has changed since.
    since: Change,
    samples: Samples,
}

impl Growth {
    /// A block of so many bytes is allocated.
    pub fn allocate(&mut self, at: u64, stack: u32, size: Size) {
        self.samples.change(at, size);
        self.since.add(stack, size);
        self.rise(at);
    }

    /// One is freed.
    pub fn free(&mut self, Freed { at, stack, size }: Freed) {
        self.samples.change(at, size.gone());
        self.since.add(stack, size.gone());
    }

    /// One is freed whose size isn't known here.
    pub fn free_unknown(&mut self) {
        self.is_closed = true;
    }

    fn rise(&mut self, at: u64) {
        if self.since.size.total() <= 0 {
            return;
        }
        let change = std::mem::take(&mut self.since);
        match self.highs.last_mut() {
            Some(last) if !self.is_closed => {
                last.at = at;
                last.change.append(change);
            }
            _ => self.highs.push(High { at, change }),
        }
        self.is_closed = false;
    }

    /// Adds the part that was executed behind this one, which has all before it. `numbers` are those that its stacks have here; `freed` are the blocks of this part that it has freed, in order.
    pub fn append(&mut self, next: Self, numbers: &[u32], freed: &[Freed]) {
        let mut freed = freed.iter().copied().peekable();
        for High { at, mut change } in next.highs {
            while let Some(earlier) = freed.next_if(|freed| freed.at <= at) {
                self.free(earlier);
            }
            change.renumber(numbers);
            self.since.append(change);
            self.rise(at);
        }
        freed.for_each(|later| self.free(later));
        let mut since = next.since;
        since.renumber(numbers);
        self.since.append(since);
        self.samples.merge(next.samples);
    }

    /// When there was the most for the first time, and what; of a part that has all before it.
    pub fn peak(&self) -> Option<(u64, Held)> {
        self.highs.last().map(|high| (high.at, high.change.held()))
    }

    /// What there is in the end.
    pub fn end(&self) -> Held {
        let mut all = self.highs.last().map(|high| high.change.clone()).unwrap_or_default();
        all.append(self.since.clone());
        all.held()
    }

    /// See [`Samples::points`].
    pub fn points(&self) -> impl Iterator<Item = (u64, Size)> {
        self.samples.points()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Allocates a block in a stack, or frees the one that was allocated then.
    #[derive(Clone, Copy, Debug)]
    enum Event {
        Allocate(u32, u64),
        Free(usize),
    }

    /// The same each time, for a seed.
    fn events(mut seed: u64) -> Vec<Event> {
        let mut below = move |limit: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % limit
        };
        let (mut live, mut events) = (Vec::new(), Vec::new());
        for n in 0..400 {
            if live.len() > 3 && below(5) > 1 {
                events.push(Event::Free(live.swap_remove(below(live.len() as u64) as usize)));
            } else {
                live.push(n);
                events.push(Event::Allocate(below(4) as u32, below(90)));
            }
        }
        events
    }

    fn block(events: &[Event], number: usize) -> (u32, Size) {
        match events[number] {
            Event::Allocate(stack, bytes) => (stack, Size::of_block(bytes)),
            Event::Free(_) => unreachable!("it frees what was allocated"),
        }
    }

    /// Runs of events from each of these numbers to the next one, put together.
    fn in_parts(events: &[Event], begins: &[usize]) -> Growth {
        let mut all = Growth::default();
        let ends = begins.iter().skip(1).copied().chain([events.len()]);
        for (begin, end) in begins.iter().copied().zip(ends) {
            let (mut part, mut freed) = (Growth::default(), Vec::new());
            for number in begin..end {
                let at = number as u64 * 10;
                match events[number] {
                    // Slices number stacks as they like.
                    Event::Allocate(stack, bytes) => part.allocate(at, 3 - stack, Size::of_block(bytes)),
                    Event::Free(which) => {
                        let (stack, size) = block(events, which);
                        if which < begin {
                            part.free_unknown();
                            freed.push(Freed { at, stack, size });
                        } else {
                            part.free(Freed { at, stack: 3 - stack, size });
                        }
                    }
                }
            }
            all.append(part, &[3, 2, 1, 0], &freed);
        }
        all
    }

    /// When, and what there is.
    fn peak(events: &[Event]) -> (u64, Held) {
        let (mut now, mut most) = (Change::default(), (0, Held::default()));
        for (event, number) in events.iter().zip(0..) {
            match *event {
                Event::Allocate(stack, bytes) => now.add(stack, Size::of_block(bytes)),
                Event::Free(which) => {
                    let (stack, size) = block(events, which);
                    now.add(stack, size.gone());
                }
            }
            if now.size.total() > most.1.size.total() {
                most = (number * 10, now.held());
            }
        }
        most
    }

    #[test]
    fn parts_make_a_whole_wherever_they_are_cut() {
        for seed in 0..300 {
            let events = events(seed);
            let whole = in_parts(&events, &[0]);
            assert_eq!(whole.peak(), Some(peak(&events)), "{seed}");
            for step in [1, 2, 7, 50, 190] {
                let begins: Vec<usize> = (0..events.len()).step_by(step).collect();
                let parts = in_parts(&events, &begins);
                assert_eq!((parts.peak(), parts.end()), (whole.peak(), whole.end()), "{seed} {step}");
                assert!(parts.points().eq(whole.points()), "{seed} {step}");
            }
        }
    }

    #[test]
    fn what_grows_and_shrinks_within_a_part_is_kept_once() {
        let mut part = Growth::default();
        for at in 0..1000 {
            part.allocate(at * 2, 0, Size::of_block(at % 10));
            part.free(Freed { at: at * 2 + 1, stack: 0, size: Size::of_block(at % 10) });
        }
        assert_eq!((part.highs.len(), part.since.stacks.len()), (1, 1));
    }
}
