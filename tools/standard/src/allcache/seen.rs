//! What a part of the execution did to TLBs and caches.

use superpin_tool::SliceInfo;
use superpin_tool::merge::{Merge, Sum};
use superpin_tool::models::Hierarchy;
use superpin_tool::serde::{Deserialize, Serialize};

use super::options::Shapes;

/// Kinds of accesses, by their numbers.
pub const KINDS: [&str; 3] = ["fetches", "loads", "stores"];
/// The number of fetches.
pub const FETCH: u64 = 0;
/// That of loads, and of what loads and stores at once.
pub const LOAD: u64 = 1;
/// That of stores.
pub const STORE: u64 = 2;
/// In place of a kind: it stands in the next word, and an element's size in the one after that.
const ELEMENT: u64 = 3;
/// In place of a kind: it stands in the next word, a mask of elements in the one after that, and behind it how many there are, with the size of each.
const MASKED: u64 = 4;
/// Bits of a kind.
const KIND_BITS: u32 = 3;

/// Levels of caches at most.
const LEVELS: usize = 3;

/// The constant word of an access of so many bytes.
pub fn access(kind: u64, size: u64) -> u64 {
    size << KIND_BITS | kind
}

/// The constant word of an access whose size is the word behind.
pub fn element(kind: u64) -> u64 {
    access(ELEMENT, kind)
}

/// The constant word of an access of those elements that the word behind has a bit for; then comes how many there are, and eight bits above the size of each.
pub fn masked(kind: u64) -> u64 {
    access(MASKED, kind)
}

/// How many there were of each kind.
pub type ByKind = [Sum; KINDS.len()];

/// TLBs and caches, and numbers.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Seen {
    tlbs: Hierarchy<u8>,
    caches: Hierarchy<u8>,
    /// Lines that were accessed by the first caches. Of fetches: instructions, each once.
    pub accesses: ByKind,
    /// Pages that were accessed; of fetches, as above.
    pub tlb_accesses: ByKind,
    /// Misses of TLBs.
    pub tlb_misses: ByKind,
    /// Misses of caches, by level.
    pub misses: [ByKind; LEVELS],
}

/// Adds up misses.
fn in_one(misses: &mut ByKind) -> impl FnMut(usize, u8) + '_ {
    |_, kind| misses[usize::from(kind)].0 += 1
}

fn by_level(misses: &mut [ByKind; LEVELS]) -> impl FnMut(usize, u8) + '_ {
    |level, kind| misses[level][usize::from(kind)].0 += 1
}

impl Seen {
    /// As a slice begins.
    pub fn begin(shapes: &Shapes, slice: SliceInfo) -> Self {
        Self {
            tlbs: Hierarchy::begin(&shapes.tlbs, slice),
            caches: Hierarchy::begin(&shapes.caches, slice),
            ..Self::default()
        }
    }

    /// Takes words: for each access an address and a constant.
    pub fn take(&mut self, mut words: &[u64]) {
        while let [address, what, rest @ ..] = words {
            let mut kind = what & ((1 << KIND_BITS) - 1);
            let mut size = what >> KIND_BITS;
            words = rest;
            if kind == ELEMENT {
                let [of_element, rest @ ..] = rest else { return };
                (kind, size, words) = (size, *of_element, rest);
                if size == 0 {
                    // A mask leaves it out.
                    continue;
                }
            }
            if kind == MASKED {
                let [mask, shape, rest @ ..] = rest else { return };
                // The register has bits for more elements than there are.
                let mask = mask & u64::MAX >> (64 - (shape & 0xff));
                self.access_masked(*address, mask, shape >> 8, size as u8);
                words = rest;
                continue;
            }
            self.access(*address, size, kind as u8);
        }
    }

    /// Elements that lie side by side, each an access.
    fn access_masked(&mut self, address: u64, mut mask: u64, bytes: u64, kind: u8) {
        while mask != 0 {
            self.access(address + u64::from(mask.trailing_zeros()) * bytes, bytes, kind);
            mask &= mask - 1;
        }
    }

    #[inline]
    fn access(&mut self, address: u64, size: u64, kind: u8) {
        let which = usize::from(u64::from(kind) != FETCH);
        let pages = self.tlbs.access(which, address, size, kind, in_one(&mut self.tlb_misses));
        let lines = self.caches.access(which, address, size, kind, by_level(&mut self.misses));
        if which != 0 {
            self.accesses[usize::from(kind)].0 += lines;
            self.tlb_accesses[usize::from(kind)].0 += pages;
        }
    }

    /// Adds the part that was executed behind this one.
    pub fn append(&mut self, next: Self) {
        self.accesses.merge(next.accesses);
        self.tlb_accesses.merge(next.tlb_accesses);
        self.tlb_misses.merge(next.tlb_misses);
        self.misses.merge(next.misses);
        self.tlbs.append(next.tlbs, in_one(&mut self.tlb_misses));
        self.caches.append(next.caches, by_level(&mut self.misses));
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
        std::mem::take(&mut self.tlbs).end(in_one(&mut self.tlb_misses));
        std::mem::take(&mut self.caches).end(by_level(&mut self.misses));
    }
}
