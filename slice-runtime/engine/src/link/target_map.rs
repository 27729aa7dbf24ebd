//! Where indirect branches go: a word for each *byte* of app code.
//!
//! A target's word lies at a place that only that target has, so nothing has to be compared. An IBL stub's comparison without flags costs as much as the rest
//! of an indirect branch; the map spares it, and a second jump.
//!
//! ```text
//!     pext r9, r10, gs:[target_bits]          which 4 GiB of app memory the target lies in, and bits that no address has
//!     mov  r9, gs:[r9 * 8 + TARGET_WINDOWS]   where the words of these 4 GiB would start if they started at address 0
//!     jmp  [r9 + r10 * 8]
//! ```
//!
//! Each 4 GiB with targets have a *window* of 32 GiB in [`TARGETS`]. Next to nothing of it is ever touched.
//!
//! Named invariant *exact*: whatever is in r10, one of three things happens. The word of this very address is read. Or reading it faults. Or the word
//! says that there is no trace: it is the gateway's miss, or zero, and jumping to address 0 faults. The bits of a target, from below:
//! * bits 32 to 46 choose the window. If there are no targets there, it is the first window, which is nobody's, or, above 16 TiB, none: eight times
//!   such an address is none that memory can have.
//! * bits 47 to 60 can't be set in an address of the app's: eight times that isn't an address.
//! * bits 61 to 63 get lost in the multiplication. So they belong to the window's number, and the windows from 32768 on lie where nothing is mapped.
//!
//! If targets are spread over more memory than there are windows for, all begins anew with smaller ones ([`Grain::FINE`]): a window of 1 GiB for each
//! 128 MiB, chosen by bits 27 to 46. Translated code stays the same, since the bits are a word of the thread's.
//!
//! A fault at these instructions, or at address 0, goes on at the gateway's miss (see `signals`). A word without a target does the same, in pages that
//! are in use. A fault costs some ten times what a miss does. So pages are put to use before a branch goes there, for the targets that are to be expected.
//! If the app maps address 0, which takes privileges, all pages of a part are put to use at once.
//!
//! Each process has its own map, which starts empty. So slices use it only if they are long ([`bubble::switches::TARGETS_FROM`]). The others go by
//! IBL stubs (see `translator::emit::branches::indirect`), which they have in common. Translations are shared, so all slices of a run go the same way.

use std::sync::atomic::{AtomicU64, Ordering};

use bubble::map::{Region, TARGET_WINDOWS, TARGETS};
use machine::{AppPc, CachePc, PAGE};

use super::grain::Grain;
use crate::cache::give_back;
use crate::gateway;

/// The bits of a target that choose its window, at first.
pub const WINDOW_BITS: u64 = Grain::COARSE.window_bits();

const CODE_OF_PAGE: u64 = PAGE / 8;
/// Pages that are mapped together.
const PAGES_OF_PART: u64 = 4096;
const PART_BYTES: u64 = PAGES_OF_PART * PAGE;
/// Targets from which on a program is large: their words don't stay in a core's own cache.
const MANY: usize = 4096;

/// So many pages are emptied by hand.
const FEW: u32 = 64;

/// Bytes that are mapped for parts.
static MAPPED: AtomicU64 = AtomicU64::new(0);

/// Bytes of private, writable memory that this process has mapped since the engine was made, beside what it was made with.
pub fn mapped_later() -> u64 {
    MAPPED.load(Ordering::Relaxed) + gateway::mapped_in_windows()
}

/// The target map.
#[derive(Default)]
pub struct TargetMap {
    /// Whether it is used at all.
    used: bool,
    /// Whether there is a target that can't have a word.
    failed: bool,
    /// Whether all pages are put to use at once.
    full: bool,
    /// Whether what is mapped may count against a limit of the app's.
    limited: bool,
    grain: Grain,
    /// The number of the app memory that each window is for, from the second one on.
    windows: Vec<u64>,
    /// By where they start.
    parts: Vec<Part>,
    /// The part that was asked for last.
    last: usize,
    /// Targets that are in it.
    targets: usize,
    /// How far the windows of further threads lie from the first one: in each there is the same table.
    moved: Vec<u64>,
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
        if !full && self.used.iter().map(|bits| bits.count_ones()).sum::<u32>() <= FEW {
            // They will be used again, and to get them back from the kernel takes longer.
            return self.pages_in_use().for_each(fill);
        }
        assert!(empty(Region { start: self.start, size: PART_BYTES }), "cannot clear the map of targets");
        if full {
            Self::fill(self.start);
        }
        self.used.fill(if full { u64::MAX } else { 0 });
    }

    fn pages_in_use(&self) -> impl Iterator<Item = u64> {
        let numbers = self.used.iter().zip((0..).step_by(64));
        let pages =
            numbers.flat_map(|(bits, first)| (0..64).filter(move |n| bits >> n & 1 != 0).map(move |n| first + n));
        pages.map(|page: u64| self.start + page * PAGE)
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
    // SAFETY: the piece is only used by its words, which may be zero at any time, and no translated code runs.
    let is_given_back = unsafe { give_back(piece.start as *mut libc::c_void, piece.size as usize) };
    is_given_back || map(piece, READ_WRITE)
}

/// Whether the app may have as much private memory as it likes. If not ours would count, too.
pub fn may_map_more() -> bool {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place.
    unsafe { libc::getrlimit(libc::RLIMIT_DATA, &raw mut limit) == 0 && limit.rlim_cur == libc::RLIM_INFINITY }
}

/// The word of a thread's table, whose window lies `moved` bytes from the first one.
fn word_of(number: u64, moved: u64) -> &'static AtomicU64 {
    // SAFETY: the table is mapped while the map is used, and stays.
    unsafe { &*((TARGET_WINDOWS.start.wrapping_add(moved) + number * 8) as *const AtomicU64) }
}

/// The words of the page around `place`.
fn words(place: u64) -> &'static [AtomicU64; CODE_OF_PAGE as usize] {
    // SAFETY: parts stay mapped, and consist of words only.
    unsafe { &*((place & !(PAGE - 1)) as *const [AtomicU64; CODE_OF_PAGE as usize]) }
}

impl TargetMap {
    /// Whether translated code looks targets up here.
    pub fn are_used(&self) -> bool {
        self.used
    }

    /// Makes this the way in which translated code looks targets up, if memory can be had. `full`: address 0 is mapped; `limited`: what is mapped may count
    /// against a limit of the app's.
    pub fn begin(&mut self, full: bool, limited: bool) {
        (self.full, self.limited) = (full, limited);
        // An engine before this one may have left its own map there.
        self.used = map(TARGETS, libc::PROT_NONE) && self.set_grain(Grain::COARSE);
    }

    fn set_grain(&mut self, grain: Grain) -> bool {
        let is_mapped = self.tables().all(|moved| {
            let table = grain.table();
            map(Region { start: table.start.wrapping_add(moved), ..table }, READ_WRITE)
        });
        if is_mapped {
            self.grain = grain;
            (0..grain.low_numbers()).for_each(|number| self.set_window(number, grain.base(0, number)));
        }
        is_mapped
    }

    /// How far the tables of all threads lie from the first one's.
    fn tables(&self) -> impl Iterator<Item = u64> {
        std::iter::once(0).chain(self.moved.iter().copied())
    }

    fn set_window(&self, number: u64, base: u64) {
        self.tables().for_each(|moved| word_of(number, moved).store(base, Ordering::Relaxed));
    }

    /// There is a further thread, whose window lies `moved` bytes from the first one: its table says the same. False if there is no memory for it.
    pub fn joins(&mut self, moved: u64) -> bool {
        if self.used {
            let table = self.grain.table();
            if !self.moved.contains(&moved) {
                MAPPED.fetch_add(table.size, Ordering::Relaxed);
            }
            if !map(Region { start: table.start.wrapping_add(moved), ..table }, READ_WRITE) {
                return false;
            }
            for number in 0..self.grain.numbers() {
                let base = word_of(number, 0).load(Ordering::Relaxed);
                if base != 0 {
                    word_of(number, moved).store(base, Ordering::Relaxed);
                }
            }
        }
        if !self.moved.contains(&moved) {
            self.moved.push(moved);
        }
        true
    }

    /// Begins anew, with no targets and with more windows, if some couldn't have any. Returns the bits that choose them from now on.
    pub fn refine(&mut self) -> Option<u64> {
        let wanted = self.used && self.failed && self.grain == Grain::COARSE;
        let wanted = wanted && (!self.limited || may_map_more());
        if !wanted || !self.set_grain(Grain::FINE) {
            return None;
        }
        assert!(map(TARGETS, libc::PROT_NONE), "cannot clear the map of targets");
        let tables = 1 + self.moved.len() as u64;
        MAPPED.fetch_add(tables * (Grain::FINE.table().size - Grain::COARSE.table().size), Ordering::Relaxed);
        MAPPED.fetch_sub(self.parts.len() as u64 * PART_BYTES, Ordering::Relaxed);
        let moved = std::mem::take(&mut self.moved);
        *self =
            Self { used: true, full: self.full, limited: self.limited, grain: self.grain, moved, ..Self::default() };
        Some(self.grain.window_bits())
    }

    /// Whether there is a target that can't have a word.
    pub fn have_failed(&self) -> bool {
        self.used && self.failed
    }

    /// Translated code looks targets up by IBL stubs from now on.
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
        let (grain, number) = (self.grain, self.grain.number_of(target));
        let window = 1 + match self.windows.iter().position(|&n| n == number) {
            Some(known) => known,
            None if number >= grain.numbers() || self.windows.len() + 1 == grain.windows() => return None,
            None => {
                self.windows.push(number);
                self.set_window(number, grain.base(self.windows.len(), number));
                self.windows.len() - 1
            }
        };
        Some(grain.base(window, number).wrapping_add(8 * target.0))
    }

    /// Where the word is in nobody's window that a target has which can't have its own.
    fn nobodys_place(&self, target: AppPc) -> Option<u64> {
        let number = self.grain.number_of(target);
        let has_none = number < self.grain.numbers() && !self.windows.contains(&number);
        has_none.then(|| {
            let base = self.grain.base(0, number);
            self.set_window(number, base);
            base.wrapping_add(8 * target.0)
        })
    }

    fn part(&mut self, place: u64) -> Option<&mut Part> {
        let start = place & !(PART_BYTES - 1);
        if self.parts.get(self.last).is_none_or(|part| part.start != start) {
            self.last = match self.parts.binary_search_by_key(&start, |part| part.start) {
                Ok(known) => known,
                Err(_) if self.limited && !may_map_more() || !Part::map(start, self.full) => return None,
                Err(at) => {
                    MAPPED.fetch_add(PART_BYTES, Ordering::Relaxed);
                    let used = if self.full { u64::MAX } else { 0 };
                    self.parts.insert(at, Part { start, used: Box::new([used; _]) });
                    at
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
        if found.is_none() {
            self.failed = true;
            // Branches there miss each time, but don't fault.
            let place = self.nobodys_place(target);
            if let Some((place, part)) = place.and_then(|place| Some((place, self.part(place)?))) {
                part.expect(place);
            }
        }
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
mod tests;
