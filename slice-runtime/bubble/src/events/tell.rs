//! Telling of events, in the processes of a run.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::area::{CHUNK, CHUNKS, ENTRY_HEAD, EventArea, FIRST_ENTRY, state};
use super::kind::EventKind;
use crate::map::CONTROL;

/// What this process is to tell, as [`EventKind::bit`]s.
static WANTED: AtomicU32 = AtomicU32::new(0);
/// The slice that it is.
static SLICE: AtomicU64 = AtomicU64::new(0);
/// The chunk that it writes to.
static CHUNK_NOW: AtomicU32 = AtomicU32::new(NONE);
/// Whether it is writing.
static WRITES: AtomicBool = AtomicBool::new(false);

pub(super) const NONE: u32 = u32::MAX;

/// From now on this process tells events of these kinds. `slice`: its number, or [`SERIAL`].
///
/// # Safety
/// CONTROL is mapped at its place and stays.
pub unsafe fn start(kinds: u32, slice: u64) {
    SLICE.store(slice, Ordering::Relaxed);
    CHUNK_NOW.store(NONE, Ordering::Relaxed);
    WRITES.store(false, Ordering::Relaxed);
    WANTED.store(kinds, Ordering::Release);
}

/// Whether events of this kind are wanted.
#[inline]
pub fn wants(kind: EventKind) -> bool {
    WANTED.load(Ordering::Relaxed) & kind.bit() != 0
}

/// Tells of an event, if that is wanted. What it says is formatted only then.
#[inline]
pub fn tell(kind: EventKind, text: fmt::Arguments<'_>) {
    if wants(kind) {
        // SAFETY: `start` was promised that CONTROL is mapped.
        let area = EventArea(CONTROL.start as *mut u8);
        if WRITES.swap(true, Ordering::Acquire) {
            // Whoever writes was interrupted, and what has interrupted it has something to tell.
            area.lost().fetch_add(1, Ordering::Relaxed);
            return;
        }
        write(area, &CHUNK_NOW, SLICE.load(Ordering::Relaxed), kind, text);
        WRITES.store(false, Ordering::Release);
    }
}

/// Writes an entry to the chunk `now`, or a new one.
#[cold]
pub(super) fn write(area: EventArea, now: &AtomicU32, slice: u64, kind: EventKind, text: fmt::Arguments<'_>) {
    let chunk = now.load(Ordering::Relaxed);
    if chunk != NONE {
        if append(area, chunk as usize, kind, text, false) {
            return;
        }
        area.head(chunk as usize).state.store(state::FULL, Ordering::Release);
        now.store(NONE, Ordering::Relaxed);
    }
    let free = (0..CHUNKS).find(|chunk| {
        let state = &area.head(*chunk).state;
        state.compare_exchange(state::FREE, state::TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    });
    let Some(chunk) = free else {
        area.lost().fetch_add(1, Ordering::Relaxed);
        return;
    };
    let head = area.head(chunk);
    head.slice.store(slice, Ordering::Relaxed);
    // SAFETY: getpid has no preconditions. As a number of the system: libc doesn't keep it.
    head.process.store(unsafe { libc::getpid() } as u32, Ordering::Release);
    now.store(chunk as u32, Ordering::Relaxed);
    append(area, chunk, kind, text, true);
}

/// Appends an entry. What doesn't fit is left out if it `may_be_cut`; otherwise nothing is written, and the answer is false.
fn append(area: EventArea, chunk: usize, kind: EventKind, text: fmt::Arguments<'_>, may_be_cut: bool) -> bool {
    let used = area.head(chunk).used.load(Ordering::Relaxed) as usize;
    let room = CHUNK - FIRST_ENTRY - used;
    if room < ENTRY_HEAD {
        return false;
    }
    let start = area.entries(chunk, used + ENTRY_HEAD);
    let mut to = Cursor { start, room: room - ENTRY_HEAD, len: 0 };
    if fmt::write(&mut to, text).is_err() && !may_be_cut {
        return false;
    }
    let head = [kind as u32, to.len as u32];
    // SAFETY: the chunk belongs to this process, and the head fits before the text. Words are stored wherever they lie.
    unsafe {
        area.entries(chunk, used).cast::<[u32; 2]>().write_unaligned(head);
        area.entries(chunk, used + 8).cast::<u64>().write_unaligned(now());
    }
    let used = (used + ENTRY_HEAD + to.len).next_multiple_of(8).min(CHUNK - FIRST_ENTRY);
    area.head(chunk).used.store(used as u32, Ordering::Release);
    true
}

struct Cursor {
    start: *mut u8,
    room: usize,
    len: usize,
}

impl fmt::Write for Cursor {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut fits = text.len().min(self.room - self.len);
        while !text.is_char_boundary(fits) {
            fits -= 1;
        }
        // SAFETY: so much room is left, and it is this process's alone until the entry is published.
        unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), self.start.add(self.len), fits) };
        self.len += fits;
        if fits == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

/// Nanoseconds on the kernel's monotonic clock. By the system call: what libc would read may trap.
pub fn now() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
