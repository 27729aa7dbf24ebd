//! The stream of a slice: bytes that its tool writes, on their way to the collector, which keeps those of all slices in files and puts them together in order.
//!
//! They go through a ring in the slot, so that a slice needs no file, whatever user it is and whatever limits it has, and waits when the disk does.
//!
//! ```text
//!   slice: copy, `written` += n, bit in RunHeader::streaming, bell  ──►  collector: to the slot's file, `taken` += n
//!          waits on `changed` while the ring is full                ◄──  `changed` += 1
//! ```
//! A slice that is begun again raises `attempt`, and waits until the collector has forgotten what is there and says so in `accepted`.

use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::map::{RESULT, Region};

/// Bytes in the ring.
pub const RING: u64 = 512 << 10;
/// Bytes before it: the head.
const HEAD: u64 = 4096;

/// The end of [`RESULT`]: a [`StreamHead`], then the ring.
pub const STREAM: Region = Region { start: RESULT.end() - HEAD - RING, size: HEAD + RING };
/// Address of the ring.
pub const RING_AT: u64 = STREAM.start + HEAD;

/// Offset of a slot's [`STREAM`] in the run memory.
pub const fn stream_at(slot: usize) -> u64 {
    crate::map::file::result_at(slot) + (STREAM.start - RESULT.start)
}

/// What both sides know of the ring. All zero where nothing was written yet.
#[repr(C)]
pub struct StreamHead {
    /// Bytes that were written since the slice began.
    pub written: AtomicU64,
    /// Bytes that were taken out.
    pub taken: AtomicU64,
    /// The attempt that writes.
    pub attempt: AtomicU32,
    /// The attempt whose bytes are taken.
    pub accepted: AtomicU32,
    /// Changes whenever the collector has changed something: a futex.
    pub changed: AtomicU32,
}

const _: () = assert!(size_of::<StreamHead>() as u64 <= HEAD && RING.is_multiple_of(4096));
