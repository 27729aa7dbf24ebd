//! Who calls an allocating routine: return addresses, the innermost first, as many as are asked for.
//!
//! A slice doesn't know the calls that the app was in when it began. What it notes of a stack is as far as it knows it, and how far up the app had come by then; the rest is added when slices are put together.

use std::collections::BTreeMap;

use superpin_tool::CallStack;
use superpin_tool::serde::{Deserialize, Serialize};

/// The stack of each thread: of each call where it returns to.
pub type Stacks = BTreeMap<u64, CallStack<u64>>;

/// Callers, as far as they are known.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Callers {
    /// Return addresses, the innermost first.
    pub addresses: Vec<u64>,
    /// There may be others, of this thread, whose frames lie above this address.
    open: Option<(u64, u64)>,
}

impl Callers {
    /// One alone.
    pub fn only(address: u64) -> Self {
        Self { addresses: vec![address], open: None }
    }

    /// Of the routine that a thread is in, which has this stack, `depth` at most.
    pub fn of(stack: &CallStack<u64>, thread: u64, depth: usize) -> Self {
        let addresses: Vec<u64> = addresses(stack, 0).take(depth).collect();
        let open = (addresses.len() < depth).then(|| (thread, stack.unwound_to()));
        Self { addresses, open }
    }

    /// Adds those that were there before the slice: these stacks were then.
    pub fn complete(&mut self, before: &Stacks, depth: usize) {
        let Some((thread, above)) = self.open.take() else { return };
        let Some(stack) = before.get(&thread) else { return };
        let missing = depth - self.addresses.len();
        self.addresses.extend(addresses(stack, above).take(missing));
    }
}

/// Stacks by numbers, from 0 on in the order in which they were noted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Numbers {
    numbers: BTreeMap<Callers, u32>,
}

impl Numbers {
    /// The number of one.
    pub fn of(&mut self, callers: Callers) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(callers).or_insert(next)
    }

    /// Adds those of a slice, before which there were these stacks: the number that each has here, by the one that it has there.
    pub fn append(&mut self, slice: Self, before: &Stacks, depth: usize) -> Vec<u32> {
        let mut here = vec![0; slice.numbers.len()];
        for (mut callers, number) in slice.numbers {
            callers.complete(before, depth);
            here[number as usize] = self.of(callers);
        }
        here
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// All of them with their numbers, sorted by their addresses.
    pub fn all(&self) -> impl Iterator<Item = (&Callers, u32)> {
        self.numbers.iter().map(|(callers, number)| (callers, *number))
    }

    /// Return addresses by number.
    pub fn addresses(&self) -> Vec<&[u64]> {
        let mut addresses: Vec<&[u64]> = vec![&[]; self.numbers.len()];
        self.all().for_each(|(callers, number)| addresses[number as usize] = &callers.addresses);
        addresses
    }
}

/// Return addresses in frames above this address, the innermost first.
fn addresses(stack: &CallStack<u64>, above: u64) -> impl Iterator<Item = u64> {
    let frames = stack.frames().iter().rev().filter(move |frame| frame.stack_pointer > above);
    frames.map(|frame| frame.data)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(frames: &[(u64, u64)]) -> CallStack<u64> {
        let mut stack = CallStack::default();
        frames.iter().for_each(|(place, address)| stack.enter(*place, *address, |_, _| {}));
        stack
    }

    #[test]
    fn callers_of_an_earlier_slice_are_added_unless_they_were_left() {
        let before = Stacks::from([(1, stack(&[(900, 0x9001), (800, 0x8002), (700, 0x7003)]))]);
        let mut part = stack(&[(600, 0x6004)]);
        let callers = |part: &CallStack<u64>, depth| {
            let mut callers = Callers::of(part, 1, depth);
            callers.complete(&before, depth);
            callers.addresses
        };
        assert_eq!(callers(&part, 9), [0x6004, 0x7003, 0x8002, 0x9001]);
        assert_eq!(callers(&part, 2), [0x6004, 0x7003]);
        assert_eq!(callers(&part, 1), [0x6004]);
        part.leave(700, |_, _| {});
        part.enter(750, 0x7505, |_, _| {});
        assert_eq!(callers(&part, 9), [0x7505, 0x8002, 0x9001]);
        // Another thread has a stack of its own, of which nothing is known.
        let mut other = Callers::of(&CallStack::default(), 2, 3);
        other.complete(&before, 3);
        assert_eq!(other, Callers::default());
    }

    #[test]
    fn stacks_that_turn_out_to_be_one_get_one_number() {
        let before = Stacks::from([(1, stack(&[(900, 0x9001)]))]);
        let (mut slice, mut all) = (Numbers::default(), Numbers::default());
        all.of(Callers::only(0x7007));
        // One where nothing is known above, and one where the app had come further up.
        let (deep, shallow) = (stack(&[(600, 0x6004)]), {
            let mut stack = stack(&[(800, 0x8002)]);
            stack.leave(800, |_, _| {});
            stack.enter(600, 0x6004, |_, _| {});
            stack
        });
        assert_eq!([&deep, &shallow, &deep].map(|stack| slice.of(Callers::of(stack, 1, 4))), [0, 1, 0]);
        assert_eq!(all.append(slice, &before, 4), [1, 1]);
        assert_eq!(all.addresses(), [&[0x7007][..], &[0x6004, 0x9001]]);
    }
}
