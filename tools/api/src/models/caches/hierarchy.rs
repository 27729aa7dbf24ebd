//! Caches in levels.

use serde::{Deserialize, Serialize};

use super::level::{Level, Outcome};
use super::shape::HierarchyShape;
use crate::tool::SliceInfo;

/// Caches of a part of the execution, in one or several levels. All replace the line of a set that was used least recently, and take in whatever they miss, also what is
/// stored to. What is written back isn't followed, and nothing is taken out of a cache because one below has lost it.
///
/// Only misses are told: accesses to the first level whoever makes them counts, and those to a lower one are the misses above it. A *tag* goes with each access, and comes
/// back with each of its misses: a kind to count by, or the address of the instruction.
///
/// ```no_run
/// use superpin_tool::SliceInfo;
/// use superpin_tool::models::{CacheShape, Hierarchy, HierarchyShape};
///
/// // In `Tool::new`: 32 KB for data, 32 KB for instructions, 1 MB below both.
/// let l1 = CacheShape::new(32 << 10, 8, 64)?;
/// let shape = HierarchyShape::new(vec![l1, l1], vec![CacheShape::new(1 << 20, 16, 64)?])?;
///
/// // In `begin`, and in routines: a load of 8 bytes.
/// let mut misses = [0, 0];
/// let mut caches = Hierarchy::begin(&shape, SliceInfo { number: 0 });
/// caches.access(0, 0x1000, 8, (), |level, ()| misses[level] += 1);
///
/// // In `fold`: a slice that doesn't know whether the line is there. In `fini`: `end`.
/// let mut next = Hierarchy::begin(&shape, SliceInfo { number: 1 });
/// next.access(0, 0x1008, 8, (), |_, ()| unreachable!("it isn't known"));
/// caches.append(next, |level, ()| misses[level] += 1);
/// caches.end(|level, ()| misses[level] += 1);
/// assert_eq!(misses, [1, 1]);
/// # Ok::<(), String>(())
/// ```
///
/// **How it is exact.** Of a set a slice knows the lines that it has used itself; when these fill it, all of it. What it accesses before that and isn't among them is kept,
/// and looked up when the slice before is known: at most as many accesses as there are lines in the cache, however long the slice. A lower level is accessed by some of these, or isn't:
/// of the set at hand nothing is known from there on, until its own accesses have filled it again.
///
/// **Cost.** An access looks through the lines of a set, the latest one first, and moves those before it: some nanoseconds with 8 ways, and as many more as there are ways. A part takes 8 bytes for each
/// line of its caches; a result some 7 for each that was used, and as many for each access that is kept.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hierarchy<T> {
    first: Vec<Level<T>>,
    lower: Vec<Level<T>>,
}

/// Nothing yet: takes over what is appended.
impl<T> Default for Hierarchy<T> {
    fn default() -> Self {
        Self { first: Vec::new(), lower: Vec::new() }
    }
}

impl<T: Copy> Hierarchy<T> {
    /// The caches as a slice begins: empty in the first one, unknown in all others.
    pub fn begin(shape: &HierarchyShape, slice: SliceInfo) -> Self {
        let empty = slice.number == 0;
        let first = shape.first().iter().enumerate().map(|(n, shape)| Level::new(*shape, n as u8, empty)).collect();
        Self { first, lower: shape.lower().iter().map(|shape| Level::new(*shape, 0, empty)).collect() }
    }

    /// Accesses `size` bytes by the `cache`th of the first level: each line of it that they lie in once. `missed` gets the levels that are known to have missed it, 0 for the first
    /// one. Returns how many lines that are.
    ///
    /// # Panics
    /// If there is no such cache: in a `Default` there is none.
    #[inline]
    pub fn access(&mut self, cache: usize, address: u64, size: u64, tag: T, missed: impl FnMut(usize, T)) -> u64 {
        self.access_with(cache, address, size, || tag, missed)
    }

    /// The same with a tag that is found out only if it is needed, of an access that misses or is open: it may take longer to find.
    ///
    /// # Panics
    /// As [`Self::access`].
    #[inline]
    pub fn access_with(
        &mut self,
        cache: usize,
        address: u64,
        size: u64,
        tag: impl Fn() -> T,
        mut missed: impl FnMut(usize, T),
    ) -> u64 {
        let level = &self.first[cache];
        let (first, last) = (level.line_of(address), level.line_of(address.wrapping_add(size.max(1) - 1)));
        if first == last && level.is_latest(first) {
            // Most are like this, and nothing changes.
            return 1;
        }
        self.access_lines(cache, first, last, &tag, &mut missed)
    }

    #[inline(never)]
    fn access_lines(
        &mut self,
        cache: usize,
        first: u64,
        last: u64,
        tag: &impl Fn() -> T,
        missed: &mut impl FnMut(usize, T),
    ) -> u64 {
        let (mut line, mut lines) = (first, 1);
        loop {
            self.access_line(cache, line, tag, missed);
            if line == last {
                return lines;
            }
            // Around the end of the address space, too.
            line = self.first[cache].line_of(self.first[cache].address_of(line.wrapping_add(1)));
            lines += 1;
        }
    }

    #[inline]
    fn access_line(&mut self, cache: usize, line: u64, tag: &impl Fn() -> T, missed: &mut impl FnMut(usize, T)) {
        let level = &mut self.first[cache];
        let mut outcome = level.access(Outcome::Miss, line, tag);
        if outcome == Outcome::Hit {
            return;
        }
        let address = level.address_of(line);
        if outcome == Outcome::Miss {
            missed(0, tag());
        }
        for (above, level) in self.lower.iter_mut().enumerate() {
            outcome = level.access(outcome, level.line_of(address), tag);
            match outcome {
                Outcome::Hit => return,
                Outcome::Miss => missed(above + 1, tag()),
                Outcome::Open(_) => {}
            }
        }
    }

    /// Tags of accesses that are open: what they stand for may be known only when parts are put together.
    pub fn tags_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.first.iter_mut().chain(&mut self.lower).flat_map(Level::tags_mut)
    }

    /// Adds the part that was executed behind this one. `missed` gets what is known now.
    ///
    /// # Panics
    /// If that has other caches.
    pub fn append(&mut self, next: Self, mut missed: impl FnMut(usize, T)) {
        if self.first.is_empty() {
            *self = next;
            return;
        }
        if next.first.is_empty() {
            return;
        }
        let like = (self.first.len(), self.lower.len()) == (next.first.len(), next.lower.len());
        assert!(like, "parts of an execution with other caches");
        let parts = self.first.iter_mut().zip(next.first);
        let mut above: Vec<Vec<Outcome>> =
            parts.map(|(level, next)| level.append(next, &[], |tag| missed(0, tag))).collect();
        for (n, (level, next)) in self.lower.iter_mut().zip(next.lower).enumerate() {
            above = vec![level.append(next, &above, |tag| missed(n + 1, tag))];
        }
    }

    /// The execution is over, and it began with empty caches: `missed` gets what was open up to here.
    pub fn end(self, missed: impl FnMut(usize, T)) {
        self.behind_nothing(missed);
    }

    /// For `Tool::warmed_up`: the caches stay as they are. What is open is told nobody: before the warm-up they were empty.
    pub fn end_warm_up(&mut self) {
        *self = std::mem::take(self).behind_nothing(|_, _| {});
    }

    /// The same behind empty caches.
    fn behind_nothing(self, missed: impl FnMut(usize, T)) -> Self {
        let mut from_nothing = Self {
            first: self.first.iter().map(Level::emptied).collect(),
            lower: self.lower.iter().map(Level::emptied).collect(),
        };
        from_nothing.append(self, missed);
        from_nothing
    }
}
