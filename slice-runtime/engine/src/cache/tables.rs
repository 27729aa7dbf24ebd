//! What is known about the translated code of one code cache: reading.
//!
//! The same layout serves two caches. The shared cache's tables lie in the run memory and are used by all slices at once;
//! a process's own cache has its tables in private memory.
//!
//! Named invariants:
//! * *append*: records and arena bytes below the cursors never change, except for the atomic fields.
//! * *publish*: a trace's code, exits, maps and record are complete before its number is stored in the index with release
//!   ordering; readers load it with acquire ordering and need no lock.
//! * *death*: a process that dies while it holds the lock has published either all of a trace or nothing; the next one
//!   takes the lock over and overwrites the unpublished rest.

use std::sync::atomic::{AtomicU32, Ordering};

use machine::AppPc;
use translator::abi::{CountedBlock, TraceExit, TraceId};

use super::given_back::give_back;
use super::layout::{Header, INDEX_ENTRIES, Layout, OfOneRun, TraceRecord, filter_of, slots_of};

/// A table, wherever it lies.
#[derive(Clone, Copy)]
pub struct Tables {
    pub(super) layout: *mut Layout,
    /// Whether other processes use it too.
    pub(super) shared: bool,
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

    pub(super) fn index(&self) -> &[AtomicU32; INDEX_ENTRIES] {
        // SAFETY: as in `header`.
        unsafe { &(*self.layout).index }
    }

    pub(super) fn page_head(&self, page: u64) -> &AtomicU32 {
        // SAFETY: as in `header`.
        unsafe { &(&(*self.layout).pages)[(page.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 46) as usize] }
    }

    /// A published trace's record.
    pub fn trace(&self, id: TraceId) -> &TraceRecord {
        assert!(id.0 < self.len(), "trace {} of {}", id.0, self.len());
        // SAFETY: by *append* the record doesn't change but for its atomics.
        unsafe { &(&(*self.layout).traces)[id.0 as usize] }
    }

    /// An exit's record.
    pub fn exit(&self, number: u32) -> TraceExit {
        // SAFETY: exits are complete before the code that names them is reachable.
        unsafe { (&(*self.layout).exits)[number as usize] }
    }

    /// Blocks that are counted, by the numbers of their counters: those of a trace.
    pub fn counted_in(&self, id: TraceId) -> &[CountedBlock] {
        let trace = self.trace(id);
        let first = trace.first_counter as usize;
        // SAFETY: by *append* records of a published trace don't change.
        unsafe { &(&(*self.layout).counted)[first..first + trace.counted as usize] }
    }

    /// What a counter counts that isn't zero: whoever has executed its trace has seen that published.
    pub fn counted(&self, number: u32) -> &CountedBlock {
        // SAFETY: by *append* records of a published trace don't change.
        unsafe { &(&(*self.layout).counted)[number as usize] }
    }

    /// Counters of blocks in use.
    pub fn block_counters(&self) -> u32 {
        self.header().counters_of_blocks.load(Ordering::Acquire)
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
        let entries = slots_of(pc).map(|at| self.index()[at].load(Ordering::Acquire));
        let traces = entries.take_while(|&entry| entry != 0).map(|entry| TraceId(entry - 1));
        let found = traces.map(|id| (id, self.trace(id))).find(|(_, trace)| trace.pc == pc);
        found.filter(|(_, trace)| trace.dead.load(Ordering::Acquire) == 0).map(|(id, _)| id)
    }

    /// Calls `visit` for each valid trace that overlaps `start .. end`; stubs, which stand for no app code, are none.
    ///
    /// Traces are found by the page of their head, so the pages before the range that a trace can span are searched too.
    pub fn overlapping(&self, start: u64, end: u64, mut visit: impl FnMut(TraceId, &TraceRecord)) {
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

    fn visit_if(&self, id: TraceId, start: u64, end: u64, visit: &mut impl FnMut(TraceId, &TraceRecord)) {
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
    fn before(&self, holds: impl Fn(&TraceRecord) -> bool) -> u32 {
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
        let is_empty = unsafe { give_back(self.layout.cast(), size_of::<Layout>()) };
        assert!(is_empty, "cannot empty the translation tables: {}", std::io::Error::last_os_error());
    }
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
        let tables = super::super::shared_tables::tests::tables();
        for n in 0..1000 {
            assert_eq!(tables.find(AppPc(0x40_0000 + n * 0x1238)), None);
        }
        let header = size_of::<Header>().div_ceil(4096) + 1;
        assert!(touched(&tables) <= header, "{} pages", touched(&tables));
    }
}
