//! What a part of the execution did to TLBs and caches.

use superpin_tool::SliceInfo;
use superpin_tool::merge::{Merge, Sum};
use superpin_tool::models::Hierarchy;
use superpin_tool::serde::de::DeserializeOwned;
use superpin_tool::serde::{Deserialize, Serialize};

use super::shapes::Shapes;
use super::words::{self, Access, FETCH, KINDS};

/// Levels of caches at most.
pub const LEVELS: usize = 3;

/// How many there were of each kind.
pub type ByKind = [Sum; KINDS.len()];

/// What missed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missed {
    /// A TLB.
    Tlb,
    /// The cache of this level, 0 for the first one.
    Cache(usize),
}

/// Misses as a tool counts them.
pub trait Misses: Default + Merge {
    /// What it counts them by: it comes back with each miss, perhaps only when slices are put together.
    type Tag: Copy + Serialize + DeserializeOwned;

    /// Told of each access.
    fn note(&mut self, access: &Access);

    /// What finds the tag of an access, which is asked only where it is needed, and what counts one more.
    fn of(&mut self, access: &Access) -> (impl Fn() -> Self::Tag, impl FnMut(Self::Tag, Missed));

    /// One more.
    fn count(&mut self, tag: Self::Tag, missed: Missed);
}

/// All misses, by kind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Totals {
    /// Of TLBs.
    pub tlbs: ByKind,
    /// Of caches, by level.
    pub caches: [ByKind; LEVELS],
}

impl Merge for Totals {
    fn merge(&mut self, next: Self) {
        self.tlbs.merge(next.tlbs);
        self.caches.merge(next.caches);
    }
}

impl Misses for Totals {
    type Tag = u8;

    #[inline(always)]
    fn note(&mut self, _: &Access) {}

    #[inline(always)]
    fn of(&mut self, access: &Access) -> (impl Fn() -> u8, impl FnMut(u8, Missed)) {
        let kind = access.kind;
        (move || kind, |kind, missed| self.count(kind, missed))
    }

    fn count(&mut self, kind: u8, missed: Missed) {
        let kinds = match missed {
            Missed::Tlb => &mut self.tlbs,
            Missed::Cache(level) => &mut self.caches[level],
        };
        kinds[usize::from(kind)].0 += 1;
    }
}

/// TLBs and caches, and numbers.
#[derive(Clone, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde", bound = "M: Serialize + DeserializeOwned")]
pub struct Seen<M: Misses> {
    tlbs: Hierarchy<M::Tag>,
    caches: Hierarchy<M::Tag>,
    /// Lines that were accessed by the first caches. Of fetches: instructions, each once.
    pub accesses: ByKind,
    /// Pages that were accessed; of fetches, as above.
    pub tlb_accesses: ByKind,
    /// What missed.
    pub misses: M,
}

impl<M: Misses> Default for Seen<M> {
    fn default() -> Self {
        Self {
            tlbs: Hierarchy::default(),
            caches: Hierarchy::default(),
            accesses: ByKind::default(),
            tlb_accesses: ByKind::default(),
            misses: M::default(),
        }
    }
}

fn of_tlb<M: Misses>(misses: &mut M) -> impl FnMut(usize, M::Tag) + '_ {
    |_, tag| misses.count(tag, Missed::Tlb)
}

fn of_caches<M: Misses>(misses: &mut M) -> impl FnMut(usize, M::Tag) + '_ {
    |level, tag| misses.count(tag, Missed::Cache(level))
}

impl<M: Misses> Seen<M> {
    /// As a slice begins.
    pub fn begin(shapes: &Shapes, slice: SliceInfo) -> Self {
        Self {
            tlbs: Hierarchy::begin(&shapes.tlbs, slice),
            caches: Hierarchy::begin(&shapes.caches, slice),
            ..Self::default()
        }
    }

    /// So many instructions were executed.
    pub fn executed(&mut self, instructions: u64) {
        let fetches = &mut self.accesses[FETCH].0;
        *fetches = fetches.wrapping_add(instructions);
    }

    /// Takes words of the buffer.
    pub fn take(&mut self, words: &[u64]) {
        words::each(words, |access| self.access(&access));
    }

    /// One access.
    #[inline]
    pub fn access(&mut self, access: &Access) {
        let Access { address, size, kind, .. } = *access;
        let which = usize::from(usize::from(kind) != FETCH);
        self.misses.note(access);
        let (tag, mut count) = self.misses.of(access);
        let pages = self.tlbs.access_with(which, address, size, &tag, |_, tag| count(tag, Missed::Tlb));
        let lines = self.caches.access_with(which, address, size, &tag, |level, tag| count(tag, Missed::Cache(level)));
        drop((tag, count));
        if which != 0 {
            self.accesses[usize::from(kind)].0 += lines;
            self.tlb_accesses[usize::from(kind)].0 += pages;
        }
    }

    /// Adds the part that was executed behind this one, of which the misses so far, its own and the tags of accesses that are open are closed first.
    pub fn append_closed(
        &mut self,
        mut next: Self,
        close: impl FnOnce(&M, &mut M, &mut dyn Iterator<Item = &mut M::Tag>),
    ) {
        let Self { tlbs, caches, misses, .. } = &mut next;
        close(&self.misses, misses, &mut tlbs.tags_mut().chain(caches.tags_mut()));
        self.append(next);
    }

    /// Adds the part that was executed behind this one.
    pub fn append(&mut self, next: Self) {
        self.accesses.merge(next.accesses);
        self.tlb_accesses.merge(next.tlb_accesses);
        self.misses.merge(next.misses);
        self.tlbs.append(next.tlbs, of_tlb(&mut self.misses));
        self.caches.append(next.caches, of_caches(&mut self.misses));
    }

    /// A warm-up is over.
    pub fn end_warm_up(&mut self) {
        self.tlbs.end_warm_up();
        self.caches.end_warm_up();
        let (tlbs, caches) = (std::mem::take(&mut self.tlbs), std::mem::take(&mut self.caches));
        *self = Self { tlbs, caches, ..Self::default() };
    }

    /// The execution is over: nothing is open any more.
    pub fn end(&mut self) {
        std::mem::take(&mut self.tlbs).end(of_tlb(&mut self.misses));
        std::mem::take(&mut self.caches).end(of_caches(&mut self.misses));
    }
}
