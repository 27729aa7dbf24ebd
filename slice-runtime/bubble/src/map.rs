//! The drawing of the bubble.
//!
//! ```text
//!  0x5408_0000_0000  WINDOWS       private   1 TiB   what is each thread's own in a serial run whose code names that through GS: a window of 256 MiB for each but the first
//!  0x5508_0000_0000  TARGETS       private 256 GiB   where indirect branches go
//!  0x5548_0000_0000  HEAP          private  48 GiB   heap of the image (Rust allocator), grows up
//!                    LOGS          run      32 GiB   in the master only, and not in its forks: slices' logs, for the in-process recorder
//!  0x5554_0000_0000  RECORDS       run       1 GiB   the slice's own log (its slot's part of the run memory)
//!  0x5554_4000_0000  RESULT        run       1 GiB   the slice's own encoded result; at its end what a tool writes in order, see [`crate::stream`]
//!  0x5554_8000_0000  CONTROL       run     256 MiB   run header, slot control blocks; from its middle on the app's images and symbols
//!  0x5554_9000_0000  TABLES        run     768 MiB   translation tables, block table of the shared code cache
//!  0x5554_c000_0000  CACHE_ALIAS   run     256 MiB   the shared code cache, writable alias
//!  - - - - - - - - - everything that generated code touches lies from here on, within 2 GiB - - - - - - - - -
//!  0x5554_e000_0000  IMAGE         private 256 MiB   the tool image's segments, as the ELF file lays them out
//!  0x5554_f000_0000  LIBC_HEAP     private  64 MiB   what the image's libc would take by brk
//!  0x5554_f800_0000  ENTRY         private   1 MiB   boot block
//!  0x5554_f900_0000  STACK         private  16 MiB   the image's stack (grows down from the region's end)
//!  0x5554_fa00_0000  RECORDER      mixed     4 MiB   in the master only, and not in its forks: the in-process recorder
//!  0x5554_fb00_0000  SNAPSHOT       run      16 MiB   in a run's first slice only, and only while it starts: see [`crate::snapshot`]
//!  0x5555_0000_0000  THREADS       private  64 MiB   thread states, reached through GS
//!  0x5555_0400_0000  TARGET_WINDOWS private 256 KiB  where in TARGETS to look; after it 2 MiB at least are never mapped
//!  0x5555_0800_0000  LOCAL         private  48 MiB   the tool's local state
//!  0x5555_0b00_0000  COUNTS        private  48 MiB   counters of blocks
//!  0x5555_0e00_0000  BUFFER        private   1 MiB   values on their way from translated code to the tool; nothing is mapped
//!                                                    after it, so that a full buffer is noticed by a fault
//!  0x5555_1000_0000  CACHE_SHARED  run     256 MiB   the shared code cache, executed (MAP_PRIVATE view)
//!  0x5555_2000_0000  CACHE_OWN     private 256 MiB   this process's own code cache
//!  0x5555_3000_0000  TABLES_OWN    private 512 MiB   translation tables of this process's own code cache
//!  0x5555_5000_0000  end
//!  0x5555_5555_4000  where the kernel loads a PIE executable at the earliest; its heap follows it
//! ```
//!
//! Why here: the kernel never places a mapping of its own choice between the lowest PIE address and the mmap
//! area, and PIE executables and their brk heaps only grow away from this place. ASan's shadow and allocator end at
//! 0x5400_0000_0000, MSan and TSan leave the range to the app. And it is the place from which RIP-relative
//! operands of a PIE main executable (at its lowest address when randomisation is off) are in reach.
//! Counters are one `add [rip+x], imm` because LOCAL and COUNTS lie within 2 GiB of both caches.
//!
//! The reservation is final: what later versions need is in it already. Nothing of an app's may lie where they want to be, or they
//! couldn't run what was recorded by this one. TSan makes a gap that reaches into WINDOWS inaccessible. That changes nothing, so it may: see [`stays_reserved`].

/// A part of the bubble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// First address.
    pub start: u64,
    /// Size in bytes, a multiple of the page size.
    pub size: u64,
}

impl Region {
    const fn new(start: u64, size: u64) -> Self {
        Self { start, size }
    }

    /// First address after the region.
    pub const fn end(self) -> u64 {
        self.start + self.size
    }

    /// Whether `address` lies in it.
    pub const fn contains(self, address: u64) -> bool {
        address >= self.start && address < self.end()
    }

    /// Whether any byte of `start .. start + len` lies in it.
    pub const fn overlaps(self, start: u64, len: u64) -> bool {
        start < self.end() && start.saturating_add(len) > self.start
    }
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Bytes of a thread's window.
const WINDOW: u64 = 256 * MIB;

/// The whole reservation.
pub const BUBBLE: Region = Region::new(WINDOWS.start, 0x5555_5000_0000 - WINDOWS.start);
/// Where threads have what is each one's own: windows of the shape of the first one's, the 256 MiB from [`THREADS`] to the end of [`BUFFER_GUARD`]. Of a window nothing but [`OF_WINDOW`] and
/// [`TARGET_WINDOWS`] is ever mapped, and that only while a thread has it.
pub const WINDOWS: Region = Region::new(0x5408_0000_0000, 4096 * WINDOW);
/// Where indirect branches go: windows of 32 GiB each, or of one.
pub const TARGETS: Region = Region::new(0x5508_0000_0000, 256 * GIB);
/// Heap of the image.
pub const HEAP: Region = Region::new(0x5548_0000_0000, 47 * GIB);
/// In the master only, where slices have their heap, and not in its forks: the logs of slices, a part for each slot, to which the recorder
/// inside it writes.
pub const LOGS: Region = Region::new(HEAP.start, 32 * GIB);
/// Bytes of [`LOGS`] that a slot has: so much of its log can be written there.
pub const LOG_PART: u64 = 128 * MIB;
/// Tables of this process's own code cache.
pub const TABLES_OWN: Region = Region::new(0x5553_c000_0000, 768 * MIB);
/// The slice's log: records that the control process wrote for it.
pub const RECORDS: Region = Region::new(0x5554_0000_0000, GIB);
/// The slice's encoded result.
pub const RESULT: Region = Region::new(0x5554_4000_0000, GIB);
/// [`crate::shared::RunHeader`] and the slots; then [`APP_IMAGES`] and [`MODULES`].
pub const CONTROL: Region = Region::new(0x5554_8000_0000, 256 * MIB);
/// Where the app's programs and libraries are mapped, see [`crate::app_images`]. A part of [`CONTROL`], mapped with it.
pub const APP_IMAGES: Region = Region::new(CONTROL.start + 128 * MIB, 17 * MIB);
/// What they have in them, see [`crate::modules`]. A part of it as well.
pub const MODULES: Region = Region::new(APP_IMAGES.end(), CONTROL.end() - APP_IMAGES.end());
/// Tables of the shared code cache.
pub const TABLES: Region = Region::new(0x5554_9000_0000, 768 * MIB);
/// Writable alias of [`CACHE_SHARED`].
pub const CACHE_ALIAS: Region = Region::new(0x5554_c000_0000, 256 * MIB);
/// The tool image.
pub const IMAGE: Region = Region::new(0x5554_e000_0000, 256 * MIB);
/// Memory that the image's libc believes to be its brk heap.
pub const LIBC_HEAP: Region = Region::new(0x5554_f000_0000, 64 * MIB);
/// The boot block.
pub const ENTRY: Region = Region::new(0x5554_f800_0000, MIB);
/// The image's stack.
pub const STACK: Region = Region::new(0x5554_f900_0000, 16 * MIB);
/// The recorder that runs inside the master: code, its data, and records on their way to the control process. Not in forks.
pub const RECORDER: Region = Region::new(0x5554_fa00_0000, 4 * MIB);
/// Where a slice writes the snapshot of its image.
pub const SNAPSHOT: Region = Region::new(0x5554_fb00_0000, 16 * MIB);
/// Thread states.
pub const THREADS: Region = Region::new(0x5555_0000_0000, 64 * MIB);
/// Where in [`TARGETS`] the windows are: a table that is entered by bits of a target. Of what follows it nothing may be mapped up to eight times its size.
pub const TARGET_WINDOWS: Region = Region::new(0x5555_0400_0000, 8 * MIB);
/// Tool-local state.
pub const LOCAL: Region = Region::new(0x5555_0800_0000, 48 * MIB);
/// The last page of it: what is counted of the run before, see [`crate::region`].
pub const PREFIX: Region = Region::new(LOCAL.end() - 4096, 4096);
/// Before that: what a tool counts of it itself, in a pass of its own.
pub const FIRST_PASS: Region = Region::new(PREFIX.start - (64 << 10), 64 << 10);
/// Counters of blocks: those of shared translations, then those of this process's own.
pub const COUNTS: Region = Region::new(0x5555_0b00_0000, 48 * MIB);
/// What translated code writes for the tool to take in bulk: small enough to stay in a core's own cache.
pub const BUFFER: Region = Region::new(0x5555_0e00_0000, MIB);
/// Never mapped: stores after the end of [`BUFFER`] fault.
pub const BUFFER_GUARD: Region = Region::new(BUFFER.end(), CACHE_SHARED.start - BUFFER.end());
/// Shared code cache, the view that is executed.
pub const CACHE_SHARED: Region = Region::new(0x5555_1000_0000, 256 * MIB);
/// Code cache of this process alone.
pub const CACHE_OWN: Region = Region::new(0x5555_2000_0000, 256 * MIB);

/// The end of it: what calls of routines go through, see the engine's `called`.
pub const CALLED: Region = Region::new(CACHE_OWN.end() - 2 * MIB, 2 * MIB);
/// The rest: translated code.
pub const TRANSLATED_OWN: Region = Region::new(CACHE_OWN.start, CALLED.start - CACHE_OWN.start);

/// The window of the first thread, which all code names by its addresses.
pub const WINDOW_0: Region = Region::new(THREADS.start, CACHE_SHARED.start - THREADS.start);
const _: () = assert!(WINDOW_0.size == WINDOW);
/// What is mapped of a window: the same parts in each. [`TARGET_WINDOWS`] is besides, where it is used.
pub const OF_WINDOW: [Region; 4] = [THREADS, LOCAL, COUNTS, BUFFER];

/// Where the window of a further thread begins, by its number, which counts from 0; `None`: so many threads have none.
pub const fn window(number: u64) -> Option<u64> {
    let start = number * WINDOW;
    if start < WINDOWS.size { Some(WINDOWS.start + start) } else { None }
}

/// Whether `mmap` with these arguments, at that very place, leaves the bubble as it is: inaccessible memory of nobody's, where there is nothing else.
pub const fn stays_reserved([start, len, protection, flags, ..]: [u64; 6]) -> bool {
    const NOBODYS: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let in_use = Region::new(WINDOWS.end(), BUBBLE.end() - WINDOWS.end());
    protection == libc::PROT_NONE as u64 && flags as i32 & NOBODYS == NOBODYS && !in_use.overlaps(start, len)
}

const _: () = assert!(LOGS.size <= HEAP.size && LOG_PART <= RECORDS.size);
/// Slots of a run: an upper bound on slices that run, wait, or hold a result that wasn't folded yet.
pub const MAX_SLOTS: usize = 256;

const _: () = assert!(MAX_SLOTS as u64 * LOG_PART <= LOGS.size);

/// Offsets in the run memory of what is mapped from it.
pub mod file {
    use super::{CACHE_SHARED, CONTROL, RECORDS, RESULT, SNAPSHOT, TABLES};

    /// [`CONTROL`] starts the file.
    pub const CONTROL_AT: u64 = 0;
    /// [`TABLES`].
    pub const TABLES_AT: u64 = CONTROL_AT + CONTROL.size;
    /// [`CACHE_SHARED`] and [`super::CACHE_ALIAS`].
    pub const CACHE_AT: u64 = TABLES_AT + TABLES.size;
    /// [`SNAPSHOT`].
    pub const SNAPSHOT_AT: u64 = CACHE_AT + CACHE_SHARED.size;
    /// The [`TABLES`] of the second pass, where slices are run twice: see [`crate::region::pass`].
    pub const SECOND_TABLES_AT: u64 = SNAPSHOT_AT + SNAPSHOT.size;
    /// Its cache.
    pub const SECOND_CACHE_AT: u64 = SECOND_TABLES_AT + TABLES.size;
    /// Where the slots' logs and results start.
    pub const SLOTS_AT: u64 = SECOND_CACHE_AT + CACHE_SHARED.size;

    /// Offset of a slot's [`RECORDS`].
    pub const fn records_at(slot: usize) -> u64 {
        SLOTS_AT + slot as u64 * (RECORDS.size + RESULT.size)
    }

    /// Offset of a slot's [`RESULT`].
    pub const fn result_at(slot: usize) -> u64 {
        records_at(slot) + RECORDS.size
    }

    /// Size of the file, nearly all of it a hole.
    pub const fn size(slots: usize) -> u64 {
        records_at(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_lie_in_order_inside_the_bubble() {
        let all = [
            WINDOWS,
            TARGETS,
            HEAP,
            TABLES_OWN,
            RECORDS,
            RESULT,
            CONTROL,
            TABLES,
            CACHE_ALIAS,
            IMAGE,
            LIBC_HEAP,
            ENTRY,
            STACK,
            RECORDER,
            SNAPSHOT,
            THREADS,
            TARGET_WINDOWS,
            LOCAL,
            COUNTS,
            BUFFER,
            BUFFER_GUARD,
            CACHE_SHARED,
            CACHE_OWN,
        ];
        assert_eq!(all[0].start, BUBBLE.start);
        for pair in all.windows(2) {
            assert!(pair[0].end() <= pair[1].start, "{pair:?}");
        }
        assert!(all[all.len() - 1].end() <= BUBBLE.end());
        const { assert!(TARGET_WINDOWS.start + 8 * TARGET_WINDOWS.size <= LOCAL.start) };
        assert!(all.iter().all(|r| r.start % 4096 == 0 && r.size % 4096 == 0));
    }

    #[test]
    fn a_window_has_the_shape_of_what_one_thread_has() {
        const { assert!(WINDOWS.start.is_multiple_of(WINDOW) && THREADS.start.is_multiple_of(WINDOW)) };
        const { assert!(BUFFER_GUARD.end() - THREADS.start == WINDOW) };
        const { assert!(WINDOWS.end() == TARGETS.start) };
    }

    #[test]
    fn only_what_is_inaccessible_may_be_mapped_over_the_reserve() {
        let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED) as u64;
        let gap = [0x3400_0000_0000, 0x2100_0000_0000, 0, flags, u64::MAX, 0];
        assert!(stays_reserved(gap));
        let with = |at: usize, word: u64| {
            let mut args = gap;
            args[at] = word;
            stays_reserved(args)
        };
        assert!(!with(1, 0x2108_0000_1000), "that is in use");
        assert!(!with(2, libc::PROT_READ as u64));
        assert!(!with(3, (libc::MAP_PRIVATE | libc::MAP_FIXED) as u64));
    }

    #[test]
    fn generated_code_reaches_all_that_it_touches() {
        assert!(BUBBLE.end() - IMAGE.start < 2 * GIB);
    }
}
