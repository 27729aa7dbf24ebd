//! Misses by what they were of.

use std::collections::{BTreeSet, HashMap};

use superpin_tool::merge::Merge;
use superpin_tool::serde::{Deserialize, Serialize};
use superpin_tool::{AppPc, LoadedImages};

use super::owners::{GRANULE_BITS, Owners, granule};
use crate::caches::seen::{LEVELS, Missed, Misses};
use crate::caches::words::{Access, FETCH};

/// Bits of an address in a page.
const PAGE_BITS: u32 = 12;

/// What an access was of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub enum Of {
    /// Code that was fetched.
    Code,
    /// A variable of an image, by its address in its program; so are the next two.
    Variable(u64),
    /// What has no name in a section, by the section's address.
    Section(u64),
    /// A block that was allocated for who is returned to there.
    Block(u64),
    /// A granule of which the parts of the execution before this one know who has allocated it.
    Open(u64),
    /// A page of other memory.
    Page(u64),
}

/// How many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Counts {
    /// Of TLBs.
    pub tlbs: u64,
    /// Of caches, by level.
    pub caches: [u64; LEVELS],
}

impl Merge for Counts {
    fn merge(&mut self, next: Self) {
        self.tlbs = self.tlbs.wrapping_add(next.tlbs);
        self.caches.iter_mut().zip(next.caches).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
    }
}

/// What tells what an access is of.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Finder {
    /// Who has allocated memory in this part of the execution.
    pub owners: Owners,
    /// Whether there is none before it.
    pub is_first: bool,
    /// The program that is executed: address 0 in it.
    pub here: u64,
    /// Those that are there.
    #[serde(skip)]
    pub images: LoadedImages,
}

impl Finder {
    fn of(&self, address: u64, kind: u8) -> Of {
        if usize::from(kind) == FETCH {
            return Of::Code;
        }
        if let Some(image) = self.images.at(AppPc(address)) {
            if let Some(variable) = image.variable_at(AppPc(address)) {
                return Of::Variable(self.here | variable.range().start);
            }
            let section = image.section_at(AppPc(address)).map(|section| section.range().start);
            return Of::Section(self.here | section.unwrap_or(image.range().start));
        }
        match self.owners.of(granule(address)) {
            Some(owner) => Of::Block(owner),
            None if self.is_first => Of::Page(address >> PAGE_BITS),
            None => Of::Open(granule(address)),
        }
    }
}

/// By what they were of.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct ByData {
    /// How the next ones are told apart.
    pub finder: Finder,
    counts: HashMap<Of, Counts>,
    /// Pages that were accessed by the stack pointer.
    stack: BTreeSet<u64>,
    #[serde(skip)]
    last_of_stack: u64,
}

impl ByData {
    /// Closes what the part behind this one has left open, of which `open` are the tags in its caches: it is to be added next.
    pub fn close(&self, next: &mut Self, open: &mut dyn Iterator<Item = &mut Of>) {
        // What another program has had allocated was gone when this one began.
        let is_same = next.finder.here == self.finder.here;
        let closed = |of: Of| match of {
            Of::Open(granule) => match self.finder.owners.of(granule).filter(|_| is_same) {
                Some(owner) => Of::Block(owner),
                None => Of::Page(granule >> (PAGE_BITS - GRANULE_BITS)),
            },
            of => of,
        };
        open.for_each(|of| *of = closed(*of));
        let mut counts: HashMap<Of, Counts> = HashMap::new();
        for (of, some) in std::mem::take(&mut next.counts) {
            counts.entry(closed(of)).or_default().merge(some);
        }
        next.counts = counts;
    }

    /// All of them, with the pages that the stack pointer has pointed to.
    pub fn all(&self) -> (&HashMap<Of, Counts>, &BTreeSet<u64>) {
        (&self.counts, &self.stack)
    }

    /// Nothing was missed so far: a warm-up is over.
    pub fn begin_anew(&mut self) {
        self.counts.clear();
    }
}

impl Merge for ByData {
    fn merge(&mut self, next: Self) {
        for (of, counts) in next.counts {
            self.counts.entry(of).or_default().merge(counts);
        }
        if next.finder.here != self.finder.here {
            (self.finder.owners, self.finder.here) = (Owners::default(), next.finder.here);
        }
        self.finder.owners.merge(next.finder.owners);
        self.stack.extend(next.stack);
    }
}

impl Misses for ByData {
    type Tag = Of;

    /// [`Access::place`] says whether it is by the stack pointer.
    #[inline(always)]
    fn note(&mut self, access: &Access) {
        let page = access.address >> PAGE_BITS;
        if access.place != 0 && page != self.last_of_stack && usize::from(access.kind) != FETCH {
            self.last_of_stack = page;
            self.stack.insert(page);
        }
    }

    #[inline(always)]
    fn of(&mut self, access: &Access) -> (impl Fn() -> Of, impl FnMut(Of, Missed)) {
        let (address, kind) = (access.address, access.kind);
        let Self { finder, counts, .. } = self;
        (move || finder.of(address, kind), |of, missed| count(counts, of, missed))
    }

    fn count(&mut self, of: Of, missed: Missed) {
        count(&mut self.counts, of, missed);
    }
}

fn count(counts: &mut HashMap<Of, Counts>, of: Of, missed: Missed) {
    let counts = counts.entry(of).or_default();
    match missed {
        Missed::Tlb => counts.tlbs += 1,
        Missed::Cache(level) => counts.caches[level] += 1,
    }
}
