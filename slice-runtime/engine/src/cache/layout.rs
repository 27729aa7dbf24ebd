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
//!            templates  tables of indirect branches
//! ```
//!
//! All references are indices and offsets, never pointers.

use std::sync::atomic::{AtomicU32, AtomicU64};

use bubble::code_files::{CodeFiles, OF_ONE_RUN};
use machine::AppPc;
use translator::abi::{Counters, Exit, IndirectTables, Level};

use super::region_set::RegionSet;

pub(super) const INDEX_ENTRIES: usize = 1 << 21;

pub(super) const PAGE_HEADS: usize = 1 << 18;

/// Traces that a table holds at most. Half of the index, so that probes stay short.
pub const MAX_TRACES: usize = 1 << 20;

/// Exits that a table holds at most.
pub const MAX_EXITS: usize = 1 << 22;

pub(super) const ARENA_BYTES: usize = 256 << 20;

/// Slices that may be looking for their end at the same time.
pub const MAX_ENDS: usize = bubble::shared::MAX_SLOTS;

/// Templates that a run has at most; a process whose mappings would need a further one has a table of its own.
pub const MAX_TEMPLATES: usize = 16;

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
    /// Cache offset + 1 of the shared landings that lead to it, by their [`Level`]; 0: there is none.
    pub landings: [AtomicU32; Level::ALL.len()],
    /// Entries of the list of call marks that follows the buffer marks.
    pub call_marks: u32,
    /// 1 if it compares its app code itself when it is entered, see `translator`'s self-checks.
    pub inspects: u32,
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
    /// Bits for the heads that the index has, see [`filter_of`].
    pub(super) filter: [AtomicU64; FILTER_WORDS],
    /// Counters that have cells in the code of these tables.
    pub counters: Counters,
    /// Cells in use, see [`crate::cells`].
    pub(super) cells: AtomicU32,
    /// Templates in use.
    pub(super) templates: AtomicU32,
    /// The mappings that each is for.
    pub(super) template_sets: [RegionSet; MAX_TEMPLATES],
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
    pub(super) exits: [Exit; MAX_EXITS],
    pub(super) arena: [u8; ARENA_BYTES],
    pub(super) templates: [IndirectTables; MAX_TEMPLATES],
}

const _: () = assert!(size_of::<Layout>() <= bubble::map::TABLES_OWN.size as usize);
const _: () = assert!(size_of::<Layout>() <= bubble::map::TABLES.size as usize);
const _: () = assert!(size_of::<OfOneRun>() as u64 == OF_ONE_RUN);
const _: () = assert!(size_of::<TraceRecord>().is_multiple_of(8) && size_of::<Exit>() == 24);

/// Words of a filter of heads. A slice looks for each trace in its own tables first, which have next to none: without the filter it would touch, and
/// have the kernel clear, as many pages of their index as of the shared one.
pub(super) const FILTER_WORDS: usize = 64;

/// The word of the filter, and the bit in it, that is set if the index may have a head.
pub(super) fn filter_of(pc: AppPc) -> (usize, u64) {
    let hash = pc.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
    (hash as usize / 64, 1 << (hash % 64))
}

/// Traces that lie near each other do so in the index too: each page of it that is touched for the first time costs a page fault.
pub(super) fn slot_of(pc: AppPc) -> usize {
    let mapping = (pc.0 >> 21).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 43;
    (mapping + (pc.0 >> 2)) as usize % INDEX_ENTRIES
}
