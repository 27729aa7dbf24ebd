//! Translation tables: what is known about the translated code of one code cache.
//!
//! The same layout serves two caches. The shared cache's tables lie in the run memory and are used by all slices at once;
//! a process's own cache has its tables in private memory. All references are indices and offsets, never pointers.
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
//! Named invariants:
//! * *append*: records and arena bytes below the cursors never change, except for the atomic fields.
//! * *publish*: a trace's code, exits, maps and record are complete before its number is stored in the index with release
//!   ordering; readers load it with acquire ordering and need no lock.
//! * *death*: a process that dies while it holds the lock has published either all of a trace or nothing; the next one
//!   takes the lock over and overwrites the unpublished rest.

mod locked;
mod templates;

pub use locked::Locked;
pub use templates::{RegionSet, TEMPLATES_AT};

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use bubble::code_files::{CodeFiles, OF_ONE_RUN};
use machine::AppPc;
use templates::MAX_TEMPLATES;
use translator::abi::{Counters, Exit, IndirectTables, Level, TraceId};

const INDEX_ENTRIES: usize = 1 << 21;
const PAGE_HEADS: usize = 1 << 18;
/// Traces that a table holds at most. Half of the index, so that probes stay short.
pub const MAX_TRACES: usize = 1 << 20;
/// Exits that a table holds at most.
pub const MAX_EXITS: usize = 1 << 22;
const ARENA_BYTES: usize = 256 << 20;
/// Slices that may be looking for their end at the same time.
pub const MAX_ENDS: usize = bubble::shared::MAX_SLOTS;

/// One translated trace.
#[repr(C)]
#[derive(Debug)]
pub struct Trace {
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
    traces: AtomicU32,
    /// Exits in use.
    exits: AtomicU32,
    /// Cache offset of the first free byte.
    code: AtomicU64,
    /// Bytes used at the cache's end, by stubs.
    stubs: AtomicU64,
    /// Arena offset of the first free byte.
    arena: AtomicU64,
    /// Bits for the heads that the index has, see [`filter_of`].
    filter: [AtomicU64; FILTER_WORDS],
    /// Counters that have cells in the code of these tables.
    pub counters: Counters,
    /// Cells in use, see [`crate::cells`].
    cells: AtomicU32,
    /// Templates in use.
    templates: AtomicU32,
    /// The mappings that each is for.
    template_sets: [RegionSet; MAX_TEMPLATES],
}

/// What concerns the processes of one run.
#[repr(C, align(4096))]
pub struct OfOneRun {
    /// Process id of the lock's holder, 0 if free.
    lock: AtomicU32,
    /// Processes that wait for the lock.
    waiters: AtomicU32,
    /// Ends (app pcs, 0 = none) of the slices that are looking for theirs: no new trace runs across one.
    pub ends: [AtomicU64; MAX_ENDS],
}

#[repr(C)]
struct Layout {
    of_one_run: OfOneRun,
    files: CodeFiles,
    header: Header,
    index: [AtomicU32; INDEX_ENTRIES],
    pages: [AtomicU32; PAGE_HEADS],
    traces: [Trace; MAX_TRACES],
    exits: [Exit; MAX_EXITS],
    arena: [u8; ARENA_BYTES],
    templates: [IndirectTables; MAX_TEMPLATES],
}

const _: () = assert!(size_of::<Layout>() <= bubble::map::TABLES_OWN.size as usize);
const _: () = assert!(size_of::<Layout>() <= bubble::map::TABLES.size as usize);
const _: () = assert!(size_of::<OfOneRun>() as u64 == OF_ONE_RUN);
const _: () = assert!(size_of::<Trace>().is_multiple_of(8) && size_of::<Exit>() == 24);

/// A table, wherever it lies.
#[derive(Clone, Copy)]
pub struct Tables {
    layout: *mut Layout,
    /// Whether other processes use it too.
    shared: bool,
}

impl Tables {
    /// The table at `address`.
    ///
    /// # Safety
    /// Memory of the layout's size must be mapped there for as long as the value is used, initially zero, and used
    /// for nothing else. Unless it is `shared`, no other process or thread may use it.
    pub unsafe fn at(address: u64, shared: bool) -> Self {
        Self { layout: address as *mut Layout, shared }
    }

    /// Its fixed part.
    pub fn header(&self) -> &Header {
        // SAFETY: `at` promised mapped memory; all fields are atomics.
        unsafe { &(*self.layout).header }
    }

    /// What concerns this run only.
    pub fn of_one_run(&self) -> &OfOneRun {
        // SAFETY: as in `header`.
        unsafe { &(*self.layout).of_one_run }
    }

    fn index(&self) -> &[AtomicU32; INDEX_ENTRIES] {
        // SAFETY: as in `header`.
        unsafe { &(*self.layout).index }
    }

    fn page_head(&self, page: u64) -> &AtomicU32 {
        // SAFETY: as in `header`.
        unsafe { &(&(*self.layout).pages)[(page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 46) as usize] }
    }

    /// A published trace's record.
    pub fn trace(&self, id: TraceId) -> &Trace {
        assert!(id.0 < self.len(), "trace {} of {}", id.0, self.len());
        // SAFETY: by *append* the record doesn't change but for its atomics.
        unsafe { &(&(*self.layout).traces)[id.0 as usize] }
    }

    /// An exit's record.
    pub fn exit(&self, number: u32) -> Exit {
        // SAFETY: exits are complete before the code that names them is reachable.
        unsafe { (&(*self.layout).exits)[number as usize] }
    }

    /// Where the records of exits lie, one behind the other.
    pub fn exits_address(&self) -> u64 {
        // SAFETY: `at` promised mapped memory; nothing is read.
        unsafe { &raw const (*self.layout).exits as u64 }
    }

    /// Traces that were published.
    pub fn len(&self) -> u32 {
        self.header().traces.load(Ordering::Acquire)
    }

    /// Cache bytes in use.
    pub fn code_used(&self) -> u64 {
        self.header().code.load(Ordering::Relaxed)
    }

    /// Arena bytes from `offset` on.
    pub fn arena(&self, offset: u32, len: usize) -> &[u8] {
        // SAFETY: by *append* published arena bytes don't change.
        unsafe { &(&(*self.layout).arena)[offset as usize..offset as usize + len] }
    }

    /// The valid trace with this head.
    pub fn find(&self, pc: AppPc) -> Option<TraceId> {
        let (word, bit) = filter_of(pc);
        if self.header().filter[word].load(Ordering::Relaxed) & bit == 0 {
            return None;
        }
        let mut at = slot_of(pc);
        loop {
            let entry = self.index()[at].load(Ordering::Acquire);
            if entry == 0 {
                return None;
            }
            let id = TraceId(entry - 1);
            let trace = self.trace(id);
            if trace.pc == pc {
                return (trace.dead.load(Ordering::Acquire) == 0).then_some(id);
            }
            at = (at + 1) % INDEX_ENTRIES;
        }
    }

    /// Calls `visit` for each valid trace that overlaps `start .. end`; landings and stubs, which stand for no app code, are none.
    ///
    /// Traces are found by the page of their head, so the pages before the range that a trace can span are searched too.
    pub fn overlapping(&self, start: u64, end: u64, mut visit: impl FnMut(TraceId, &Trace)) {
        let first = (start >> 12).saturating_sub(1);
        let last = (end - 1) >> 12;
        if last - first > u64::from(self.len()) {
            for n in 0..self.len() {
                self.visit_if(TraceId(n), start, end, &mut visit);
            }
            return;
        }
        for page in first..=last {
            let mut next = self.page_head(page).load(Ordering::Acquire);
            while next != 0 {
                let id = TraceId(next - 1);
                let trace = self.trace(id);
                next = trace.next_in_page;
                if trace.pc.0 >> 12 == page {
                    self.visit_if(id, start, end, &mut visit);
                }
            }
        }
    }

    fn visit_if(&self, id: TraceId, start: u64, end: u64, visit: &mut impl FnMut(TraceId, &Trace)) {
        let trace = self.trace(id);
        let valid = trace.dead.load(Ordering::Acquire) == 0;
        if valid && trace.app_len > 0 && trace.pc.0 < end && trace.pc.0 + u64::from(trace.app_len) > start {
            visit(id, trace);
        }
    }

    /// The trace whose code or stubs contain the cache offset, and the offset within code and stubs of the trace.
    pub fn at_offset(&self, offset: u32) -> Option<(TraceId, u32)> {
        let (last, first) = (self.before(|trace| trace.start <= offset), self.before(|trace| trace.stubs > offset));
        let in_code = last.checked_sub(1).map(|n| (TraceId(n), offset - self.trace(TraceId(n)).start));
        let in_stubs = || {
            let trace = (first < self.len()).then(|| self.trace(TraceId(first)))?;
            Some((TraceId(first), offset - trace.stubs + trace.size))
        };
        in_code.filter(|&(id, inside)| inside < self.trace(id).size).or_else(in_stubs)
    }

    /// How many traces come before the first one for which `holds` doesn't.
    fn before(&self, holds: impl Fn(&Trace) -> bool) -> u32 {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            if holds(self.trace(TraceId(middle))) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Empties a table in private anonymous memory: its pages are given back and read as zero again.
    pub fn clear(&self) {
        // SAFETY: the layout is mapped, private and anonymous (the caller's own table), and no reference into it is held
        // across this call.
        let r = unsafe { libc::madvise(self.layout.cast(), size_of::<Layout>(), libc::MADV_DONTNEED) };
        assert_eq!(r, 0, "cannot empty the translation tables: {}", std::io::Error::last_os_error());
    }
}

/// Words of a filter of heads. A slice looks for each trace in its own tables first, which have next to none: without the filter it would touch, and
/// have the kernel clear, as many pages of their index as of the shared one.
const FILTER_WORDS: usize = 64;

/// The word of the filter, and the bit in it, that is set if the index may have a head.
fn filter_of(pc: AppPc) -> (usize, u64) {
    let hash = pc.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 52;
    (hash as usize / 64, 1 << (hash % 64))
}

/// Traces that lie near each other do so in the index too: each page of it that is touched for the first time costs a page fault.
fn slot_of(pc: AppPc) -> usize {
    let mapping = (pc.0 >> 21).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 43;
    (mapping + (pc.0 >> 2)) as usize % INDEX_ENTRIES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages of the layout that were touched.
    fn touched(tables: &Tables) -> usize {
        let pages = size_of::<Layout>().div_ceil(4096);
        let mut present = vec![0_u8; pages];
        // SAFETY: the layout is mapped, and the vector has a byte for each of its pages.
        let r = unsafe { libc::mincore(tables.layout.cast(), size_of::<Layout>(), present.as_mut_ptr()) };
        assert_eq!(r, 0);
        present.into_iter().filter(|&page| page & 1 != 0).count()
    }

    #[test]
    fn looking_into_empty_tables_touches_nothing_but_their_header() {
        let tables = templates::tests::tables();
        for n in 0..1000 {
            assert_eq!(tables.find(AppPc(0x40_0000 + n * 0x1238)), None);
        }
        let header = size_of::<Header>().div_ceil(4096) + 1;
        assert!(touched(&tables) <= header, "{} pages", touched(&tables));
    }
}
