//! The structures of the translation tables, as they lie in memory.
//!
//! ```text
//!   0        OfOneRun lock, ends of the slices that are running
//!   4 KiB    files    which mappings the code is from
//!            Header   cursors
//!            index    hash of app pc -> trace number + 1, open addressing
//!            pages    hash of app page -> newest trace that starts in such a page; older ones through `next_in_page`
//!            traces   Trace records, in the order of their code in the cache
//!            exits    Exit records
//!            arena    state maps and analysis-call descriptors
//!            counted  which block each counter counts
//!            shared IBL tables  IBL tables
//! ```
//!
//! All references are indices and offsets, never pointers.

use std::sync::atomic::{AtomicU32, AtomicU64};

use bubble::code_files::{CodeFiles, OF_ONE_RUN};
use machine::AppPc;
use translator::abi::{COUNTERS, CountedBlock, Counters, IndirectTables, Level, TraceExit};

use super::region_set::RegionSet;

pub(super) const INDEX_ENTRIES: usize = 1 << 22;

pub(super) const PAGE_HEADS: usize = 1 << 18;

/// Traces that a table holds at most. Half of the index, so that probes stay short.
pub const MAX_TRACES: usize = 1 << 21;

/// Exits that a table holds at most.
pub const MAX_EXITS: usize = 1 << 22;

pub(super) const ARENA_BYTES: usize = 256 << 20;

/// Slices that may be looking for their end at the same time.
pub const MAX_ENDS: usize = bubble::shared::MAX_SLOTS;

/// Shared IBL tables that a run has at most; a process whose mappings would need a further one has a table of its own.
pub const MAX_SHARED_IBL: usize = 16;

/// One translated trace.
#[repr(C)]
#[derive(Debug)]
pub struct TraceRecord {
    /// App pc of its first instruction.
    pub pc: AppPc,
    /// Bytes of app code that it covers, contiguous.
    pub app_len: u32,
    /// Cache offset of its first byte, where all links enter.
    pub start: u32,
    /// Bytes of code there.
    pub size: u32,
    /// Cache offset of its stubs, which end where those of the trace before start.
    pub stubs: u32,
    /// Arena offset of the state map.
    pub map: u32,
    /// Entries of the state map.
    pub map_len: u32,
    /// 1 when it must not be used any more.
    pub dead: AtomicU32,
    /// Number + 1 of the next older trace that starts in a page of the same hash.
    pub next_in_page: u32,
    /// Entries of the list of block-level calls that follows the state map.
    pub block_calls: u32,
    /// Entries of the list of buffer marks that follows those.
    pub buffer_marks: u32,
    /// Cache offset + 1 of the shared IBL stubs that lead to it, by their [`Level`]; 0: there is none.
    pub ibl_stubs: [AtomicU32; Level::ALL.len()],
    /// Entries of the list of call marks that follows the buffer marks.
    pub call_marks: u32,
    /// Number of the counter of the first of its blocks that are counted.
    pub first_counter: u32,
    /// Blocks that are counted.
    pub counted: u32,
    /// 1 if it compares its app code itself when it is entered, see `translator`'s self-checks.
    pub self_checks: u32,
    /// Hash of the app code that it was made from.
    pub code_hash: u64,
}

/// The fixed part.
#[repr(C)]
pub struct Header {
    /// Traces published.
    pub(super) traces: AtomicU32,
    /// Exits in use.
    pub(super) exits: AtomicU32,
    /// Cache offset of the first free byte.
    pub(super) code: AtomicU64,
    /// Bytes used at the cache's end, by stubs.
    pub(super) stubs: AtomicU64,
    /// Arena offset of the first free byte.
    pub(super) arena: AtomicU64,
    /// Counters of blocks in use.
    pub(super) counters_of_blocks: AtomicU32,
    /// Bits for the heads that the index has, see [`filter_of`].
    pub(super) filter: [AtomicU64; FILTER_WORDS],
    /// Counters that have shards in the code of these tables.
    pub counters: Counters,
    /// Link words in use, see [`crate::link`].
    pub(super) link_words: AtomicU32,
    /// Shared IBL tables in use.
    pub(super) shared_ibl: AtomicU32,
    /// The mappings that each is for.
    pub(super) shared_ibl_sets: [RegionSet; MAX_SHARED_IBL],
}

/// What concerns the processes of one run.
#[repr(C, align(4096))]
pub struct OfOneRun {
    /// Process id of the lock's holder, 0 if free.
    pub(super) lock: AtomicU32,
    /// Processes that wait for the lock.
    pub(super) waiters: AtomicU32,
    /// Ends (app pcs, 0 = none) of the slices that are looking for theirs: no new trace runs across one.
    pub ends: [AtomicU64; MAX_ENDS],
}

#[repr(C)]
pub(super) struct Layout {
    pub(super) of_one_run: OfOneRun,
    pub(super) files: CodeFiles,
    pub(super) header: Header,
    pub(super) index: [AtomicU32; INDEX_ENTRIES],
    pub(super) pages: [AtomicU32; PAGE_HEADS],
    pub(super) traces: [TraceRecord; MAX_TRACES],
    pub(super) exits: [TraceExit; MAX_EXITS],
    pub(super) arena: [u8; ARENA_BYTES],
    pub(super) counted: [CountedBlock; COUNTERS],
    pub(super) shared_ibl: [IndirectTables; MAX_SHARED_IBL],
}

const _: () = assert!(size_of::<Layout>() <= bubble::map::TABLES_OWN.size as usize);
const _: () = assert!(size_of::<Layout>() <= bubble::map::TABLES.size as usize);
const _: () = assert!(size_of::<OfOneRun>() as u64 == OF_ONE_RUN);
const _: () = assert!(size_of::<TraceRecord>().is_multiple_of(8) && size_of::<TraceExit>() == 24);

/// Words of a filter of heads.
///
/// A slice looks for each trace in its own tables first, where next to none are. Without the filter that would touch as many pages of its own
/// index as of the shared one, and the kernel would have to clear each.
pub(super) const FILTER_WORDS: usize = 64;

/// The word of the filter, and the bit in it, that is set if the index may have a head.
pub(super) fn filter_of(pc: AppPc) -> (usize, u64) {
    let hash = pc.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
    (hash as usize / 64, 1 << (hash % 64))
}

/// The slots of the index in which a head may be, in the order in which they are looked at.
///
/// The first two slots are near: traces that lie near each other in the app do so in the index too. Each page of the index that is touched for the first
/// time costs a page fault.
/// The others are far apart. A page of functions of a byte each has more heads than slots nearby; if each gave way to its neighbour, that would make rows
/// of thousands.
pub(super) fn slots_of(pc: AppPc) -> impl Iterator<Item = usize> {
    const NEIGHBOURS: u64 = 2;
    let mapping = (pc.0 >> 21).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 42;
    let first = mapping + (pc.0 >> 2);
    // Odd, so that it comes to all of them.
    let mixed = pc.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let step = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 40 | 1;
    let near = first..first + NEIGHBOURS;
    let far = (1..).map(move |n: u64| first.wrapping_add(step.wrapping_mul(n)));
    near.chain(far).map(|at| at as usize % INDEX_ENTRIES)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions of a byte each, as in a page of nothing but returns, have slots of their own after a few steps.
    #[test]
    fn heads_that_lie_close_to_each_other_are_found_at_once() {
        let mut taken = vec![false; INDEX_ENTRIES];
        let pages = (0..256_u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17 & !0xfff);
        let mut looked_at = 0;
        for pc in pages.flat_map(|page| page..page + 4096) {
            looked_at += 1 + slots_of(AppPc(pc)).position(|at| !std::mem::replace(&mut taken[at], true)).unwrap();
        }
        assert!(looked_at < 256 * 4096 * 5, "{looked_at}");
    }
}
