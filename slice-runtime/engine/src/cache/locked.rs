//! The side of the tables that changes them: who holds the lock may add.

use std::sync::atomic::{AtomicU32, Ordering};

use bubble::code_files::{CodeFiles, FileRegion, FileVersion};
use machine::AppPc;
use translator::abi::{COUNTERS, CountedBlock, LINK_WORDS, TraceExit, TraceId};

use super::layout::{ARENA_BYTES, MAX_EXITS, MAX_TRACES, TraceRecord, filter_of, slots_of};
use super::tables::Tables;

/// Proof that the table's lock is held; gives it back when dropped.
pub struct Locked<'a> {
    pub(super) tables: &'a Tables,
}

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        if !self.tables.shared {
            return;
        }
        let header = self.tables.of_one_run();
        header.lock.store(0, Ordering::SeqCst);
        if header.waiters.load(Ordering::SeqCst) != 0 {
            futex_wake(&header.lock);
        }
    }
}

impl Tables {
    /// Takes the lock.
    pub fn lock(&self) -> Locked<'_> {
        if !self.shared {
            return Locked { tables: self };
        }
        // SAFETY: getpid has no preconditions.
        let me = unsafe { libc::getpid() } as u32;
        let lock = &self.of_one_run().lock;
        while let Err(holder) = lock.compare_exchange(0, me, Ordering::SeqCst, Ordering::Relaxed) {
            self.of_one_run().waiters.fetch_add(1, Ordering::SeqCst);
            let woken = futex_wait(lock, holder);
            self.of_one_run().waiters.fetch_sub(1, Ordering::SeqCst);
            if !woken && !alive(holder) {
                // By *death* the tables are consistent: whoever succeeds here just goes on.
                if lock.compare_exchange(holder, me, Ordering::Acquire, Ordering::Relaxed).is_ok() {
                    break;
                }
            }
        }
        Locked { tables: self }
    }
}

impl Locked<'_> {
    /// Whether code of this mapping, of a file with this path, may be shared: no other mapping that overlaps it was registered before,
    /// nor the same one of another version of the file.
    pub fn register_region(&self, wanted: &FileRegion, version: FileVersion, path: &[u8]) -> bool {
        let known = self.tables.registered();
        if let Some(number) = known.iter().position(|r| r.start < wanted.end && wanted.start < r.end) {
            return known[number] == *wanted && self.tables.versions()[number] == version;
        }
        // SAFETY: the tables are mapped, and the lock is held.
        unsafe { CodeFiles::add(&raw mut (*self.tables.layout).files, wanted, version, path) }
    }

    /// A link word that no branch has yet, if there is one.
    pub fn take_link_word(&self) -> Option<u32> {
        let link_words = &self.tables.header().link_words;
        let number = link_words.load(Ordering::Relaxed);
        if number as usize == LINK_WORDS {
            return None;
        }
        link_words.store(number + 1, Ordering::Relaxed);
        Some(number)
    }

    /// Number that the next exit gets.
    pub fn next_exit(&self) -> u32 {
        self.tables.header().exits.load(Ordering::Relaxed)
    }

    /// Cache offset that the next trace gets.
    pub fn next_code(&self) -> u32 {
        self.tables.header().code.load(Ordering::Relaxed) as u32
    }

    /// Bytes that stubs take at the cache's end.
    pub fn stub_bytes(&self) -> u32 {
        self.tables.header().stubs.load(Ordering::Relaxed) as u32
    }

    /// Moves the cache cursor forward to `offset`.
    pub fn skip_code_to(&self, offset: u32) {
        if u64::from(offset) > self.tables.code_used() {
            self.tables.header().code.store(u64::from(offset), Ordering::Relaxed);
        }
    }

    /// Arena offset that the next `append_arena` gets.
    pub fn next_arena(&self) -> u32 {
        self.tables.header().arena.load(Ordering::Relaxed) as u32
    }

    /// Whether one more trace of this many exits, arena bytes and blocks that are counted still fits.
    pub fn has_room(&self, exits: usize, arena: usize, counted: usize) -> bool {
        (self.tables.len() as usize) < MAX_TRACES - 1
            && self.next_exit() as usize + exits <= MAX_EXITS
            && self.next_arena() as usize + arena <= ARENA_BYTES
            && self.tables.block_counters() as usize + counted <= COUNTERS
    }

    /// Stores arena bytes at the arena's end without taking them into use; `publish` does that.
    pub fn write_arena(&self, bytes: &[u8]) {
        let at = self.next_arena() as usize;
        // SAFETY: the lock is held and `has_room` was checked by slicing; bytes above the cursor belong to the holder.
        unsafe { (&mut (*self.tables.layout).arena)[at..at + bytes.len()].copy_from_slice(bytes) }
    }

    /// Stores what the counters of the next trace count behind those in use, without taking them into use.
    pub fn write_counted(&self, counted: &[CountedBlock]) {
        let at = self.tables.block_counters() as usize;
        // SAFETY: as in `write_arena`.
        unsafe { (&mut (*self.tables.layout).counted)[at..at + counted.len()].copy_from_slice(counted) }
    }

    /// Stores exits of the next trace after the last one in use without taking them into use.
    pub fn write_exits(&self, exits: &[TraceExit]) {
        let (at, from) = (self.next_exit() as usize, TraceId(self.tables.len()));
        // SAFETY: as in `write_arena`.
        let places = unsafe { &mut (&mut (*self.tables.layout).exits)[at..at + exits.len()] };
        for (place, exit) in places.iter_mut().zip(exits) {
            *place = TraceExit { from, ..*exit };
        }
    }

    /// The first trace of a page's list, from `next` on, that is still valid; those before it needn't be found any more. Code that is changed
    /// again and again would make the list long otherwise.
    fn newest_valid(&self, mut next: u32) -> u32 {
        while next != 0 {
            let trace = self.tables.trace(TraceId(next - 1));
            if trace.dead.load(Ordering::Acquire) == 0 {
                break;
            }
            next = trace.next_in_page;
        }
        next
    }

    /// Takes a trace into use whose code, exits and arena bytes were written at the cursors, and makes it the one
    /// that is found for its head if `findable`.
    pub fn publish(&self, mut trace: TraceRecord, stubs: usize, exits: usize, arena: usize, findable: bool) -> TraceId {
        let header = self.tables.header();
        let number = self.tables.len();
        // An IBL stub is in no list.
        let page = (trace.app_len > 0).then(|| self.tables.page_head(trace.pc.0 >> 12));
        trace.next_in_page = page.map_or(0, |page| self.newest_valid(page.load(Ordering::Relaxed)));
        let (pc, code_end) = (trace.pc, u64::from(trace.start + trace.size));
        let counters = trace.first_counter + trace.counted;
        // SAFETY: the lock is held; the record above the cursor belongs to the holder.
        unsafe { (&raw mut (*self.tables.layout).traces[number as usize]).write(trace) };
        header.exits.store(self.next_exit() + exits as u32, Ordering::Relaxed);
        header.arena.store(u64::from(self.next_arena()) + (arena as u64).next_multiple_of(8), Ordering::Relaxed);
        header.code.store(code_end, Ordering::Relaxed);
        header.stubs.fetch_add(stubs as u64, Ordering::Relaxed);
        header.counters_of_blocks.store(counters, Ordering::Release);
        header.traces.store(number + 1, Ordering::Release);
        if let Some(page) = page {
            page.store(number + 1, Ordering::Release);
        }
        if findable {
            self.enter_in_index(pc, TraceId(number));
        }
        TraceId(number)
    }

    fn enter_in_index(&self, pc: AppPc, id: TraceId) {
        let (word, bit) = filter_of(pc);
        self.tables.header().filter[word].fetch_or(bit, Ordering::Relaxed);
        let is_its = |old: u32| old == 0 || self.tables.trace(TraceId(old - 1)).pc == pc;
        let mut entries = slots_of(pc).map(|at| &self.tables.index()[at]);
        let entry = entries.find(|entry| is_its(entry.load(Ordering::Relaxed))).expect("half of the slots are free");
        entry.store(id.0 + 1, Ordering::Release);
    }
}

/// Waits until the word changes; false after 50 ms.
fn futex_wait(word: &AtomicU32, value: u32) -> bool {
    let timeout = libc::timespec { tv_sec: 0, tv_nsec: 50_000_000 };
    // SAFETY: the word is mapped; the kernel only reads it.
    let r = unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, value, &raw const timeout) };
    // SAFETY: errno of this thread.
    r == 0 || unsafe { *libc::__errno_location() } == libc::EAGAIN
}

fn futex_wake(word: &AtomicU32) {
    // SAFETY: the word is mapped; waking has no other effect.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, 1) };
}

fn alive(pid: u32) -> bool {
    // SAFETY: signal 0 only asks.
    let r = unsafe { libc::kill(pid as i32, 0) };
    // SAFETY: errno of this thread.
    r == 0 || unsafe { *libc::__errno_location() } != libc::ESRCH
}

#[cfg(test)]
mod tests {
    use super::super::shared_tables::tests::{tables, tables_in};
    use super::*;
    use translator::abi::ExitKind;

    const STUBS: usize = 32;
    const ARENA: usize = 24;

    fn trace(pc: u64, locked: &Locked<'_>) -> TraceRecord {
        TraceRecord {
            pc: AppPc(pc),
            app_len: 7,
            start: locked.next_code(),
            size: 64,
            stubs: 0,
            map: locked.next_arena(),
            map_len: 0,
            dead: AtomicU32::new(0),
            next_in_page: 0,
            block_calls: 0,
            buffer_marks: 0,
            ibl_stubs: Default::default(),
            self_checks: 0,
            call_marks: 0,
            first_counter: locked.tables.block_counters(),
            counted: 0,
            code_hash: pc,
        }
    }

    /// Writes what belongs to a trace of two exits. Returns its record, the number of its first exit and where its bytes of the arena are.
    fn write(pc: u64, locked: &Locked<'_>) -> (TraceRecord, u32, u32) {
        let exit =
            |n| TraceExit { pc: AppPc(pc + n), kind: ExitKind::Direct, site: n as u32, argument: 0, from: TraceId(0) };
        let (exits, arena) = (locked.next_exit(), locked.next_arena());
        locked.write_exits(&[exit(1), exit(2)]);
        locked.write_arena(&[pc as u8; ARENA]);
        (trace(pc, locked), exits, arena)
    }

    /// Does it in a process of its own, which is killed in the end.
    fn in_a_process_that_is_killed(act: impl FnOnce()) {
        // SAFETY: the child takes no lock of this process's, allocates nothing and ends by a signal.
        let child = unsafe { libc::fork() };
        if child == 0 {
            act();
            // SAFETY: it ends here.
            unsafe { libc::raise(libc::SIGKILL) };
        }
        let mut status = 0;
        // SAFETY: waits for the child just made.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGKILL, "{status:#x}");
    }

    /// Whoever holds the lock may die at any moment: whether it has moved the cursors or not, it has published nothing until it counts the trace.
    #[test]
    fn what_a_dead_holder_has_not_published_is_nothing() {
        for moves_cursors in [false, true] {
            let tables = tables_in(libc::MAP_SHARED);
            in_a_process_that_is_killed(|| {
                let locked = tables.lock();
                let (whole, ..) = write(0x1000, &locked);
                locked.publish(whole, STUBS, 2, ARENA, true);
                let (part, exits, arena) = write(0x2000, &locked);
                // SAFETY: the lock is held; the record above the cursor belongs to the holder.
                unsafe { (&raw mut (*tables.layout).traces[1]).write(part) };
                if moves_cursors {
                    let header = tables.header();
                    header.exits.store(exits + 2, Ordering::Relaxed);
                    header.arena.store(u64::from(arena) + ARENA as u64, Ordering::Relaxed);
                    header.code.fetch_add(64, Ordering::Relaxed);
                    header.stubs.fetch_add(STUBS as u64, Ordering::Relaxed);
                }
                std::mem::forget(locked);
            });
            let lock = &tables.of_one_run().lock;
            assert_ne!(lock.load(Ordering::SeqCst), 0, "it died with the lock");
            let published = |pc, number: u32, exits: u32, arena| {
                let id = TraceId(number);
                assert_eq!(tables.find(AppPc(pc)), Some(id));
                assert_eq!((tables.trace(id).pc.0, tables.trace(id).code_hash), (pc, pc));
                let found = [exits, exits + 1].map(|n| (tables.exit(n).pc.0, tables.exit(n).from));
                assert_eq!(found, [(pc + 1, id), (pc + 2, id)]);
                assert_eq!(tables.arena(arena, ARENA), [pc as u8; ARENA]);
            };
            let locked = tables.lock();
            assert_eq!((tables.len(), tables.find(AppPc(0x2000))), (1, None));
            published(0x1000, 0, 0, 0);
            let (next, exits, arena) = write(0x3000, &locked);
            assert_eq!(exits, if moves_cursors { 4 } else { 2 });
            locked.publish(next, STUBS, 2, ARENA, true);
            drop(locked);
            published(0x1000, 0, 0, 0);
            published(0x3000, 1, exits, arena);
            assert_eq!((tables.find(AppPc(0x2000)), lock.load(Ordering::SeqCst)), (None, 0));
            let mut starting_there = 0;
            tables.overlapping(0, 0x4000, |_, _| starting_there += 1);
            assert_eq!(starting_there, 2);
        }
    }

    #[test]
    fn each_link_word_is_taken_once() {
        let tables = tables();
        let locked = tables.lock();
        assert!((0..LINK_WORDS as u32).all(|n| locked.take_link_word() == Some(n)));
        assert_eq!(locked.take_link_word(), None);
    }
}
