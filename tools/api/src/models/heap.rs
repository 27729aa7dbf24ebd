//! Blocks that the app allocates and frees.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use machine::AddressHasher;
use serde::{Deserialize, Serialize};

use crate::tool::SliceInfo;

/// A block that was allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HeapBlock<T> {
    /// Where it lies.
    pub address: u64,
    /// Its size in bytes.
    pub size: u64,
    /// When it was allocated, by [`Heap::now`].
    pub allocated: u64,
    /// What the tool has noted with it.
    pub tag: T,
}

/// What is left of a heap when the execution is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeapEnd<T> {
    /// Blocks that weren't freed, in the order in which they were allocated.
    pub live: Vec<HeapBlock<T>>,
    /// The greatest number of bytes that were allocated at one time.
    pub peak: u64,
    /// How often something was freed that hadn't been allocated.
    pub unknown_frees: u64,
}

/// Bytes, since some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Balance {
    /// More than there were, or fewer.
    net: i64,
    /// The most that there were in between, 0 at least.
    most: i64,
}

impl Balance {
    fn add(&mut self, bytes: i64) {
        self.net += bytes;
        self.most = self.most.max(self.net);
    }

    fn then(&mut self, next: Self) {
        self.most = self.most.max(self.net + next.most);
        self.net += next.net;
    }
}

/// Something whose other half the slices before have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Half {
    Freed { address: u64 },
    Allocated { stack_pointer: u64, address: u64 },
}

/// It, when it was, and what came between the one before and it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Open {
    between: Balance,
    now: u64,
    half: Half,
}

/// A map by addresses.
type ByAddress<V> = HashMap<u64, V, BuildHasherDefault<AddressHasher>>;

/// The blocks that the app has, and how many bytes they are.
///
/// Blocks are told when they are freed, also those that an earlier slice has allocated. A routine that allocates gets the size when it is entered, and returns the address, perhaps in another slice: these
/// two are put together by the stack pointer, which is the same at both.
///
/// ```no_run
/// use superpin_tool::SliceInfo;
/// use superpin_tool::models::Heap;
///
/// // At `enters()` of malloc, with Gpr::Rsp and Arg::Argument(0), and at `returns_from()` of it, with Gpr::Rsp and Arg::ReturnValue.
/// let mut heap = Heap::begin(SliceInfo { number: 0 });
/// heap.enter(0x7ffe_0000, 100, "malloc");
/// // The slice ends here.
/// let mut next = Heap::begin(SliceInfo { number: 1 });
/// next.leave(0x7ffe_0000, 0x5000);
/// next.allocate(0x6000, 50, "new");
/// // At `enters()` of free, with Arg::Argument(0).
/// next.free(0x5000, |_, _| unreachable!("it isn't known yet that it was allocated"));
///
/// let mut freed = Vec::new();
/// heap.append(next, |block, _| freed.push((block.tag, block.size)));
/// assert_eq!(freed, [("malloc", 100)]);
/// let end = heap.end(|_, _| {});
/// assert_eq!((end.peak, end.live[0].tag), (150, "new"));
/// ```
///
/// An address that is allocated again without having been freed is two blocks, of which the later one is freed first. So instrument routines that don't call each other: where one does, as
/// some `realloc` calls `malloc`, its block is counted twice.
///
/// **How it is exact.** A slice keeps what it frees without having allocated it, and how many bytes were allocated at most before, between and after these frees, however many there were. **Cost.** A look into a hash table for each
/// allocation and each free; a result some 20 bytes for each block that is live at the slice's end, and as many for each that it has freed for an earlier slice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heap<T> {
    /// Whether it is known that there was nothing before.
    begins_empty: bool,
    now: u64,
    /// By address; of several at one the latest one last. None: a block whose size is open.
    live: ByAddress<Vec<Option<HeapBlock<T>>>>,
    /// Sizes and tags of routines that were entered, by stack pointer; none for those that have returned.
    entered: ByAddress<Option<(u64, T)>>,
    open: Vec<Open>,
    /// Since the last one that is open.
    balance: Balance,
    unknown_frees: u64,
}

/// Of an execution that began with anything.
impl<T> Default for Heap<T> {
    fn default() -> Self {
        Self {
            begins_empty: false,
            now: 0,
            live: ByAddress::default(),
            entered: ByAddress::default(),
            open: Vec::new(),
            balance: Balance::default(),
            unknown_frees: 0,
        }
    }
}

impl<T: Default> Heap<T> {
    /// The heap as a slice begins: empty in the first one, unknown in all others.
    pub fn begin(slice: SliceInfo) -> Self {
        Self { begins_empty: slice.number == 0, ..Self::default() }
    }

    /// The time goes on by so much: instructions, say, or allocations.
    pub fn advance(&mut self, by: u64) {
        self.now = self.now.wrapping_add(by);
    }

    /// The time since the part began.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// A block was allocated.
    pub fn allocate(&mut self, address: u64, size: u64, tag: T) {
        let block = HeapBlock { address, size, allocated: self.now, tag };
        self.live.entry(address).or_default().push(Some(block));
        self.balance.add(size as i64);
    }

    /// A routine that allocates is entered, with this stack pointer.
    pub fn enter(&mut self, stack_pointer: u64, size: u64, tag: T) {
        self.entered.insert(stack_pointer, Some((size, tag)));
    }

    /// The routine that was entered with this stack pointer returns the block's address: 0 if there is none. If none was entered, it is a block of 0 bytes with the default tag.
    pub fn leave(&mut self, stack_pointer: u64, address: u64) {
        let entered = self.entered.insert(stack_pointer, None);
        if entered.is_none() && !self.begins_empty {
            self.leave_open(Half::Allocated { stack_pointer, address });
            if address != 0 {
                self.live.entry(address).or_default().push(None);
            }
        } else if address != 0 {
            let (size, tag) = entered.flatten().unwrap_or_default();
            self.allocate(address, size, tag);
        }
    }

    /// A block is freed; with address 0 none is. `freed` gets it and the time, if this part knows it.
    pub fn free(&mut self, address: u64, mut freed: impl FnMut(HeapBlock<T>, u64)) {
        if address == 0 {
            return;
        }
        let blocks = self.live.get_mut(&address);
        let popped = blocks.and_then(Vec::pop);
        if self.live.get(&address).is_some_and(Vec::is_empty) {
            self.live.remove(&address);
        }
        match popped {
            Some(Some(block)) => {
                self.balance.add(-(block.size as i64));
                freed(block, self.now);
            }
            None if self.begins_empty => self.unknown_frees += 1,
            // One of an earlier slice, or one whose size such a slice knows.
            _ => self.leave_open(Half::Freed { address }),
        }
    }

    /// What was noted with the blocks that there are, and with the routines that are to return one.
    pub fn tags_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let live = self.live.values_mut().flatten().flatten().map(|block| &mut block.tag);
        live.chain(self.entered.values_mut().flatten().map(|(_, tag)| tag))
    }

    fn leave_open(&mut self, half: Half) {
        let between = std::mem::take(&mut self.balance);
        self.open.push(Open { between, now: self.now, half });
    }

    /// Adds the part that was executed behind this one. `freed` gets the blocks of this part that were freed in that one, and when, by this part's time.
    pub fn append(&mut self, next: Self, mut freed: impl FnMut(HeapBlock<T>, u64)) {
        let before = self.now;
        for open in next.open {
            self.now = before.wrapping_add(open.now);
            self.balance.then(open.between);
            match open.half {
                Half::Freed { address } => self.free(address, &mut freed),
                Half::Allocated { stack_pointer, address } => self.leave(stack_pointer, address),
            }
        }
        self.now = before.wrapping_add(next.now);
        self.balance.then(next.balance);
        for (address, blocks) in next.live {
            let here = self.live.entry(address).or_default();
            // Those whose size was open in that part are here already, the latest ones.
            let open = blocks.iter().filter(|block| block.is_none()).count();
            let mut open = here.split_off(here.len() - open).into_iter();
            here.extend(blocks.into_iter().map(|block| match block {
                Some(block) => Some(HeapBlock { allocated: before.wrapping_add(block.allocated), ..block }),
                None => open.next().flatten(),
            }));
        }
        self.entered.extend(next.entered);
        self.unknown_frees += next.unknown_frees;
    }

    /// The execution is over, and it began with nothing. `freed` gets what was open up to here.
    pub fn end(self, freed: impl FnMut(HeapBlock<T>, u64)) -> HeapEnd<T> {
        let mut all = Self::begin(SliceInfo { number: 0 });
        all.append(self, freed);
        let mut live: Vec<HeapBlock<T>> = all.live.into_values().flatten().flatten().collect();
        live.sort_by_key(|block| (block.allocated, block.address));
        HeapEnd { live, peak: all.balance.most as u64, unknown_frees: all.unknown_frees }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::random::{Random, folded};

    #[derive(Clone, Copy, Debug)]
    enum Event {
        Enter(u64, u64),
        Leave(u64, u64),
        Allocate(u64, u64),
        Free(u64),
    }

    /// Few addresses and stack pointers, so that much goes wrong, too: what is freed twice, is never freed, returns without having been entered.
    fn events(random: &mut Random) -> Vec<Event> {
        let mut event = || {
            let (stack_pointer, address) = (0x1000 + random.below(3), random.below(12) * 16);
            match random.below(5) {
                0 => Event::Enter(stack_pointer, random.below(1000)),
                1 => Event::Leave(stack_pointer, address),
                2 => Event::Allocate(address + 16, random.below(100)),
                _ => Event::Free(address),
            }
        };
        (0..250).map(|_| event()).collect()
    }

    /// Blocks with their tags, and when they were freed.
    type Freed = Vec<(HeapBlock<u64>, u64)>;

    fn simply(events: &[Event]) -> (Freed, HeapEnd<u64>) {
        let (mut live, mut entered) = (Vec::<HeapBlock<u64>>::new(), HashMap::new());
        let (mut freed, mut peak, mut unknown_frees) = (Freed::new(), 0, 0);
        for (event, now) in events.iter().zip(0..) {
            match *event {
                Event::Enter(stack_pointer, size) => drop(entered.insert(stack_pointer, size)),
                Event::Leave(stack_pointer, address) => {
                    let entered = entered.remove(&stack_pointer);
                    if address != 0 {
                        let (size, tag) = entered.map(|size| (size, 7)).unwrap_or_default();
                        live.push(HeapBlock { address, size, allocated: now, tag });
                    }
                }
                Event::Allocate(address, size) => live.push(HeapBlock { address, size, allocated: now, tag: 8 }),
                Event::Free(0) => {}
                Event::Free(address) => match live.iter().rposition(|block| block.address == address) {
                    Some(found) => freed.push((live.remove(found), now)),
                    None => unknown_frees += 1,
                },
            }
            peak = peak.max(live.iter().map(|block| block.size).sum());
        }
        freed.sort_unstable();
        (freed, HeapEnd { live, peak, unknown_frees })
    }

    #[test]
    fn parts_make_a_whole_in_whatever_way_they_are_put_together() {
        let mut frees = 0;
        for seed in 0..1500 {
            let mut random = Random::new(seed);
            let events = events(&mut random);
            let expected = simply(&events);
            let first = random.below(2);
            // Each part knows what it has freed itself by its own time.
            let mut parts = Vec::new();
            for (number, part) in (first..).zip(random.cut(&events)) {
                let (mut heap, mut freed) = (Heap::begin(SliceInfo { number }), Freed::new());
                for event in part {
                    match *event {
                        Event::Enter(stack_pointer, size) => heap.enter(stack_pointer, size, 7),
                        Event::Leave(stack_pointer, address) => heap.leave(stack_pointer, address),
                        Event::Allocate(address, size) => heap.allocate(address, size, 8),
                        Event::Free(address) => heap.free(address, |block, now| freed.push((block, now))),
                    }
                    heap.advance(1);
                }
                parts.push((heap, freed));
            }
            let (all, mut freed) = folded(parts, &mut random, |(left, freed), (right, of_right)| {
                let before = left.now();
                let shifted = |block: HeapBlock<u64>| HeapBlock { allocated: block.allocated + before, ..block };
                freed.extend(of_right.into_iter().map(|(block, now)| (shifted(block), now + before)));
                left.append(right, |block, now| freed.push((block, now)));
            });
            let end = all.end(|block, now| freed.push((block, now)));
            freed.sort_unstable();
            frees += freed.len();
            assert!((freed, end) == expected, "seed {seed}");
        }
        assert!(frees > 10_000);
    }
}
