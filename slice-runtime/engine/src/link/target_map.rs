//! Where indirect branches go: a word for each *byte* of app code, so that a target's place says all about it and nothing
//! has to be compared. A landing's comparison without flags costs as much as the rest of an indirect branch; this spares it, and a second jump.
//!
//! ```text
//!     pext r9, r10, gs:[target_bits]          which 4 GiB of app memory the target lies in, and bits that no address has
//!     mov  r9, gs:[r9 * 8 + TARGET_WINDOWS]   where the words of these 4 GiB would start if they started at address 0
//!     jmp  [r9 + r10 * 8]
//! ```
//!
//! Each 4 GiB in which there are targets have a *window* of 32 GiB in [`TARGETS`], of which next to nothing is ever touched. Named invariant *exact*: whatever is
//! in r10, the word that is read is that of this very address, or reading it faults, or it is zero, so that jumping to address 0 faults:
//! * bits 32 to 46 choose the window. Those without targets have the first one, which stays empty, or, above 16 TiB, none:
//!   eight times such an address is none that memory can have.
//! * bits 47 to 60 can't be set in an address of the app's: eight times that isn't an address.
//! * bits 61 to 63 get lost in the multiplication, so they belong to the window's number: those of 32768 and more lie where nothing is mapped.
//!
//! A fault at these instructions, or at address 0, goes on at the gateway's miss (see `signals`), as do words of pages that are in use and have no target.
//! A fault costs some ten times what a miss does; so pages are put to use for the targets that are to be expected before a branch goes there. If the app maps
//! address 0, which takes privileges, all pages of a part are put to use at once.
//!
//! Each process has its own map, and starts with an empty one. So slices use it only if they are long ([`bubble::switches::TARGETS_FROM_MS`]). The other way is landings
//! (see `translator::emit::branches::indirect`), which slices have in common; translations are shared, so all slices of a run go the same way.

use std::sync::atomic::{AtomicU64, Ordering};

use bubble::map::{Region, TARGET_WINDOWS, TARGETS};
use machine::{AppPc, CachePc};

use crate::gateway;

/// Windows that targets may have: as many as there are values of bits 32 to 46.
const NUMBERS: u64 = 1 << 15;
const _: () = assert!(TARGET_WINDOWS.size == NUMBERS * 8);
/// Those below this number are needed where eight times an address is an address.
const LOW_NUMBERS: u64 = 1 << 12;
/// App memory that a window is for.
const APP_BYTES: u64 = 1 << 32;
const WINDOW_BYTES: u64 = 8 * APP_BYTES;
/// The first one stays empty.
const WINDOWS: usize = (TARGETS.size / WINDOW_BYTES) as usize;

/// Bytes of a page of words, and of the app code that it is for.
const PAGE: u64 = 4096;
const CODE_OF_PAGE: u64 = PAGE / 8;
/// Pages that are mapped together.
const PAGES_OF_PART: u64 = 4096;
const PART_BYTES: u64 = PAGES_OF_PART * PAGE;
/// Targets from which on a program is large: their words don't stay in a core's own cache.
const MANY: usize = 4096;

/// Bytes that are mapped for parts.
static MAPPED: AtomicU64 = AtomicU64::new(0);

/// Bytes of private, writable memory that this process has mapped since the engine was made, beside what it was made with.
pub fn mapped_later() -> u64 {
    MAPPED.load(Ordering::Relaxed)
}

/// The map of targets.
#[derive(Default)]
pub struct Targets {
    /// Whether it is used at all.
    used: bool,
    /// Whether there is a target that can't have a word.
    failed: bool,
    /// Whether all pages are put to use at once.
    full: bool,
    /// Whether what is mapped may count against a limit of the app's.
    limited: bool,
    /// Bits 32 to 46 of the app memory that each window is for, from the second one on.
    windows: Vec<u64>,
    parts: Vec<Part>,
    /// The part that was asked for last.
    last: usize,
    /// Targets that are in it.
    targets: usize,
}

/// Words that are mapped together.
struct Part {
    start: u64,
    /// Which of its pages are in use: one bit for each.
    used: Box<[u64; PAGES_OF_PART as usize / 64]>,
}

impl Part {
    /// Maps its words.
    fn map(start: u64, full: bool) -> bool {
        let mapped = map(Region { start, size: PART_BYTES }, READ_WRITE);
        if mapped && full {
            Self::fill(start);
        }
        mapped
    }

    /// Takes all words out. They stay mapped: a limit that the app has set for itself since may not let them be mapped again.
    fn clear(&mut self, full: bool) {
        assert!(empty(Region { start: self.start, size: PART_BYTES }), "cannot clear the map of targets");
        if full {
            Self::fill(self.start);
        }
        self.used.fill(if full { u64::MAX } else { 0 });
    }

    /// Puts all its pages to use.
    fn fill(start: u64) {
        (0..PAGES_OF_PART).for_each(|page| fill(start + page * PAGE));
    }

    /// Puts the page of the word at `place` to use.
    fn expect(&mut self, place: u64) {
        let page = (place - self.start) / PAGE;
        let (number, bit) = ((page / 64) as usize, 1 << (page % 64));
        if self.used[number] & bit == 0 {
            self.used[number] |= bit;
            fill(place);
        }
    }
}

/// Puts the page around `place` to use.
fn fill(place: u64) {
    words(place).iter().for_each(|word| word.store(gateway::indirect_miss_pc(), Ordering::Relaxed));
}

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Maps a piece of the bubble that is there for it, filled with zeroes.
fn map(piece: Region, protection: i32) -> bool {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    let place = piece.start as *mut libc::c_void;
    // SAFETY: nothing else is there, and no translated code runs. The advice is about what was just mapped; a kernel that doesn't know it is as good.
    unsafe {
        let mapped = libc::mmap(place, piece.size as usize, protection, flags, -1, 0) == place;
        // A huge page would be the words of a quarter of a megabyte of code, most of which is never jumped to.
        for advice in [libc::MADV_NOHUGEPAGE, libc::MADV_DONTDUMP].into_iter().filter(|_| mapped) {
            libc::madvise(place, piece.size as usize, advice);
        }
        mapped
    }
}

/// Gives the pages of a piece that was mapped back: they hold zeroes from now on.
fn empty(piece: Region) -> bool {
    /// `MADV_DONTNEED` for memory that the app has locked, as `mlockall` does with all that there is (Linux 5.18).
    const DONTNEED_LOCKED: i32 = 24;
    // SAFETY: the piece is only used by its words, which may be zero at any time, and no translated code runs.
    let is_given_back =
        |advice| unsafe { libc::madvise(piece.start as *mut libc::c_void, piece.size as usize, advice) == 0 };
    is_given_back(libc::MADV_DONTNEED) || is_given_back(DONTNEED_LOCKED) || map(piece, READ_WRITE)
}

/// Whether the app may have as much private memory as it likes. If not ours would count, too.
pub(super) fn may_map_more() -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place.
    unsafe { libc::getrlimit(libc::RLIMIT_DATA, &raw mut limit) == 0 && limit.rlim_cur == libc::RLIM_INFINITY }
}

/// What is in a window's place in the table: where the word of address 0 would be.
fn base(window: usize, number: u64) -> u64 {
    (TARGETS.start + window as u64 * WINDOW_BYTES).wrapping_sub(8 * number * APP_BYTES)
}

fn set_window(number: u64, base: u64) {
    // SAFETY: the table of windows is mapped while the map is used, and nobody holds a reference into it.
    unsafe { (TARGET_WINDOWS.start as *mut u64).add(number as usize).write(base) }
}

/// The words of the page around `place`.
fn words(place: u64) -> &'static [AtomicU64; CODE_OF_PAGE as usize] {
    // SAFETY: parts stay mapped, and consist of words only.
    unsafe { &*((place & !(PAGE - 1)) as *const [AtomicU64; CODE_OF_PAGE as usize]) }
}

impl Targets {
    /// Whether translated code looks targets up here.
    pub fn are_used(&self) -> bool {
        self.used
    }

    /// Makes this the way in which translated code looks targets up, if memory can be had. `full`: address 0 is mapped; `limited`: what is mapped may count
    /// against a limit of the app's.
    pub fn begin(&mut self, full: bool, limited: bool) {
        (self.full, self.limited) = (full, limited);
        // An engine before this one may have left its own map there.
        self.used = map(TARGETS, libc::PROT_NONE) && map(TARGET_WINDOWS, READ_WRITE);
        if self.used {
            (0..LOW_NUMBERS).for_each(|number| set_window(number, base(0, number)));
        }
    }

    /// Whether there is a target that can't have a word.
    pub fn have_failed(&self) -> bool {
        self.used && self.failed
    }

    /// Translated code looks targets up by landings from now on.
    pub fn end(&mut self) {
        self.clear();
        self.used = false;
    }

    /// Takes all targets out.
    pub fn clear(&mut self) {
        for part in &mut self.parts {
            part.clear(self.full);
        }
        self.targets = 0;
    }

    /// Address 0 is mapped: from now on all pages are put to use at once. Takes all targets out.
    pub fn fill(&mut self) {
        self.full = true;
        self.clear();
    }

    /// Where a target's word is.
    fn place(&mut self, target: AppPc) -> Option<u64> {
        let number = target.0 / APP_BYTES;
        let window = 1 + match self.windows.iter().position(|&n| n == number) {
            Some(known) => known,
            None if number >= NUMBERS || self.windows.len() + 1 == WINDOWS => return None,
            None => {
                self.windows.push(number);
                set_window(number, base(self.windows.len(), number));
                self.windows.len() - 1
            }
        };
        Some(base(window, number).wrapping_add(8 * target.0))
    }

    fn part(&mut self, place: u64) -> Option<&mut Part> {
        let start = place & !(PART_BYTES - 1);
        if self.parts.get(self.last).is_none_or(|part| part.start != start) {
            self.last = match self.parts.iter().position(|part| part.start == start) {
                Some(known) => known,
                None if self.limited && !may_map_more() || !Part::map(start, self.full) => return None,
                None => {
                    MAPPED.fetch_add(PART_BYTES, Ordering::Relaxed);
                    let used = if self.full { u64::MAX } else { 0 };
                    self.parts.push(Part { start, used: Box::new([used; _]) });
                    self.parts.len() - 1
                }
            };
        }
        self.parts.get_mut(self.last)
    }

    /// Puts the page of a target's word to use, so that a branch there misses without a fault. Returns where the word is.
    fn expect(&mut self, target: AppPc) -> Option<u64> {
        let found = self.place(target).and_then(|place| {
            self.part(place)?.expect(place);
            Some(place)
        });
        self.failed |= found.is_none();
        found
    }

    /// Puts the pages of words for code from `start` up to and including `end` to use: branches may come to any place there.
    pub fn expect_all(&mut self, start: AppPc, end: AppPc) {
        for page in start.0 / CODE_OF_PAGE..=end.0 / CODE_OF_PAGE {
            self.expect(AppPc(page * CODE_OF_PAGE));
        }
    }

    /// Where the word of a return is that will be looked up soon, if it pays to ask for it.
    pub fn ask_for(&mut self, target: AppPc) -> Option<u64> {
        if self.targets >= MANY { self.place(target) } else { None }
    }

    /// Branches to `target` go to `entry` from now on.
    pub fn put(&mut self, target: AppPc, entry: CachePc) {
        if let Some(place) = self.expect(target) {
            words(place)[(place % PAGE / 8) as usize].store(entry.0, Ordering::Relaxed);
            self.targets += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the lookup of `target` reads; nothing if it faults.
    fn looked_up(map: &Targets, target: u64) -> Option<u64> {
        let (low, high) = (target >> 32 & 0x7fff, target >> 61);
        let number = high << 15 | low;
        // SAFETY: the table of windows is mapped.
        let base = (number < NUMBERS).then(|| unsafe { *(TARGET_WINDOWS.start as *const u64).add(number as usize) })?;
        let place = base.wrapping_add(target.wrapping_mul(8));
        let mapped = map.parts.iter().any(|part| (part.start..part.start + PART_BYTES).contains(&place));
        mapped.then(|| words(place)[(place % PAGE / 8) as usize].load(Ordering::Relaxed))
    }

    #[test]
    fn a_word_is_found_for_its_own_target_only() {
        let mut map = Targets::default();
        map.begin(false, false);
        assert!(map.used);
        let targets =
            [0x40_1000, 0xfff_0000_1000, 0x1000_0000_1000, 0x5555_5555_4ff8, 0x5556_0000_0000, 0x7fff_f7ab_cdef];
        for (n, &target) in targets.iter().enumerate() {
            assert!(![Some(7), Some(8)].contains(&looked_up(&map, target)));
            map.put(AppPc(target), CachePc(0x1000 + n as u64));
        }
        let miss = gateway::indirect_miss_pc();
        for (n, &target) in targets.iter().enumerate() {
            assert_eq!(looked_up(&map, target), Some(0x1000 + n as u64));
            let nears = (1..600).flat_map(|d| [target + d, target - d]);
            let fars = (9..64).map(|bit| target ^ 1 << bit).chain((0..0xffff).map(|high| target ^ (high + 1) << 48));
            let others =
                (0..1 << 15).map(|number| target & 0xffff_ffff | number << 32).filter(|o| !targets.contains(o));
            for other in nears.chain(fars).chain(others) {
                let found = looked_up(&map, other);
                assert!([None, Some(0), Some(miss)].contains(&found), "{other:#x} finds {found:x?}");
            }
        }
        assert!(!map.failed && map.windows.len() == 6);
        map.put(AppPc(0x1_0000_0000), CachePc(1));
        assert!(!map.failed);
        map.put(AppPc(0x2_0000_0000), CachePc(1));
        assert!(map.failed, "there are no more windows");
        map.clear();
        assert_eq!(looked_up(&map, targets[0]), Some(0));
    }
}
