//! The slice's side of its stream, see [`bubble::stream`].

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bubble::stream::{RING, RING_AT, STREAM, StreamHead};

use super::compared::Compared;
use crate::ports::slot::{OwnSlot, futex_within, header};

/// Bytes that are gathered before they are packed, or written.
const CHUNK: usize = 256 << 10;

/// After so long it is looked whether there is still a collector.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What packs a piece of a stream, so that packed pieces one after the other are the whole packed.
pub type Pack = fn(&[u8]) -> Vec<u8>;

#[derive(PartialEq, Eq)]
enum State {
    /// The tool hasn't said that it writes one.
    None,
    Open,
    /// What comes belongs to no slice.
    Closed,
}

/// The stream of this process.
struct OwnStream {
    state: State,
    pack: Option<Pack>,
    /// What wasn't written yet.
    pending: Vec<u8>,
    /// Whether the collector knows which attempt this is.
    accepted: bool,
    /// What the local states of a tool that is checked append.
    compared: Compared,
}

static OWN: Mutex<OwnStream> = Mutex::new(OwnStream {
    state: State::None,
    pack: None,
    pending: Vec::new(),
    accepted: false,
    compared: Compared::new(),
});

fn own() -> MutexGuard<'static, OwnStream> {
    OWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tool writes a stream from now on, packed if there is something that packs.
pub fn open(pack: Option<Pack>) {
    let mut own = own();
    (own.state, own.pack) = (State::Open, pack);
}

/// Appends bytes. Waits while the collector has much to write.
///
/// # Panics
/// If the tool writes no stream.
pub fn append(bytes: &[u8]) {
    let mut own = own();
    assert!(
        own.state != State::None,
        "a tool that writes a stream has to say so: `const STREAM: bool = true` in its `impl Tool`"
    );
    if own.state == State::Closed {
        return;
    }
    if engine::check::is_on() {
        let is_second = engine::check::is_second();
        own.compared.append(is_second, bytes);
        // The first has appended it.
        if is_second {
            return;
        }
    }
    own.pending.extend_from_slice(bytes);
    if own.pending.len() >= CHUNK {
        engine::check::while_allowed(|| own.write_pending());
    }
}

/// How many bytes the two local states of a tool that is checked have appended alike, if they have not appended the same.
pub fn difference() -> Option<u64> {
    own().compared.difference()
}

/// How many times longer a slice may take: to pack takes some times as long as to write.
pub fn patience() -> u32 {
    const PACKING: u32 = 4;
    if own().pack.is_some() { PACKING } else { 1 }
}

/// Writes what was appended: all that was, is in the ring then, or was taken out of it.
pub fn flush() {
    let mut own = own();
    if own.state == State::Open {
        own.write_pending();
    }
}

/// The slice is over: what is appended from now on doesn't belong to it.
pub fn close() {
    let mut own = own();
    if own.state == State::Open {
        own.state = State::Closed;
    }
}

impl OwnStream {
    fn write_pending(&mut self) {
        // SAFETY: where a tool runs the slot's RESULT is mapped; all fields are atomics.
        let head = unsafe { &*(STREAM.start as *const StreamHead) };
        let Some(slot) = OwnSlot::current() else { return };
        if !self.accepted {
            begin(head, slot);
            self.accepted = true;
        }
        if self.pending.is_empty() {
            return;
        }
        let mut pending = std::mem::take(&mut self.pending);
        match self.pack {
            Some(pack) => write(head, slot, &pack(&pending)),
            None => write(head, slot, &pending),
        }
        pending.clear();
        self.pending = pending;
    }
}

/// What an earlier attempt has written is forgotten.
fn begin(head: &StreamHead, slot: OwnSlot) {
    let attempt = slot.attempt();
    head.attempt.store(attempt, Ordering::Release);
    loop {
        let seen = head.changed.load(Ordering::Acquire);
        if head.accepted.load(Ordering::Acquire) == attempt || is_lost() {
            return;
        }
        announce(slot);
        wait(&head.changed, seen);
    }
}

fn write(head: &StreamHead, slot: OwnSlot, mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let seen = head.changed.load(Ordering::Acquire);
        let written = head.written.load(Ordering::Relaxed);
        let room = RING - (written - head.taken.load(Ordering::Acquire));
        if room == 0 {
            if is_lost() {
                return;
            }
            announce(slot);
            wait(&head.changed, seen);
            continue;
        }
        let at = written % RING;
        let n = room.min(RING - at).min(bytes.len() as u64) as usize;
        // SAFETY: the collector doesn't look at the part of the ring that is free, and `n` bytes are up to its end.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), (RING_AT + at) as *mut u8, n) };
        head.written.store(written + n as u64, Ordering::Release);
        bytes = &bytes[n..];
        announce(slot);
    }
}

/// Tells the collector that there is something in this slot's ring.
fn announce(slot: OwnSlot) {
    // SAFETY: CONTROL is mapped.
    let header = unsafe { header() };
    let (word, bit) = (slot.index() / 64, 1 << (slot.index() % 64));
    if header.streaming[word].fetch_or(bit, Ordering::AcqRel) & bit == 0 {
        let bell: &AtomicU32 = &header.streams;
        bell.fetch_add(1, Ordering::Release);
        futex_within(bell, libc::FUTEX_WAKE, 1, None);
    }
}

fn wait(word: &AtomicU32, seen: u32) {
    futex_within(word, libc::FUTEX_WAIT, seen, Some(LOOK_AGAIN));
}

/// Whether nobody takes what is written any more. The app of a serial run goes on to its end, without a result.
fn is_lost() -> bool {
    // SAFETY: CONTROL is mapped.
    unsafe { header() }.streams_lost.load(Ordering::Acquire) != 0
}
