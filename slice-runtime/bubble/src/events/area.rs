//! Where events lie: chunks in CONTROL.

use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::files::FILES_END;
use crate::map::{APP_IMAGES, CONTROL};

/// Bytes of a chunk.
pub(super) const CHUNK: usize = 256 << 10;
/// Where the area starts in CONTROL.
const AREA_AT: usize = 8 << 20;
/// Where its chunks start.
const CHUNKS_AT: usize = AREA_AT + 4096;
/// How many there are.
pub(super) const CHUNKS: usize = ((APP_IMAGES.start - CONTROL.start) as usize - CHUNKS_AT) / CHUNK;
/// Bytes before an entry's text.
pub(super) const ENTRY_HEAD: usize = 16;

const _: () = assert!(FILES_END <= AREA_AT && CHUNKS > crate::shared::MAX_SLOTS);

/// States of a chunk.
pub(super) mod state {
    pub const FREE: u32 = 0;
    pub const TAKEN: u32 = 1;
    pub const FULL: u32 = 2;
}

#[repr(C)]
pub(super) struct Head {
    pub(super) state: AtomicU32,
    /// Who writes to it.
    pub(super) process: AtomicU32,
    pub(super) slice: AtomicU64,
    /// Bytes of entries that are complete.
    pub(super) used: AtomicU32,
}

pub(super) const FIRST_ENTRY: usize = 64;
const _: () = assert!(size_of::<Head>() <= FIRST_ENTRY);

/// The area, in a mapping of CONTROL.
#[derive(Clone, Copy)]
pub(super) struct EventArea(pub(super) *mut u8);

impl EventArea {
    /// Entries that found no room.
    pub(super) fn lost(&self) -> &AtomicU64 {
        // SAFETY: whoever made the area promised a mapping of CONTROL; the word is atomic.
        unsafe { &*self.0.add(AREA_AT).cast::<AtomicU64>() }
    }

    pub(super) fn head(&self, chunk: usize) -> &Head {
        assert!(chunk < CHUNKS);
        // SAFETY: the chunk lies in CONTROL, see above; all of its head is atomic.
        unsafe { &*self.0.add(CHUNKS_AT + chunk * CHUNK).cast::<Head>() }
    }

    /// Where byte `at` of a chunk's entries lies.
    pub(super) fn entries(&self, chunk: usize, at: usize) -> *mut u8 {
        assert!(chunk < CHUNKS && at <= CHUNK - FIRST_ENTRY);
        // SAFETY: inside of the chunk.
        unsafe { self.0.add(CHUNKS_AT + chunk * CHUNK + FIRST_ENTRY + at) }
    }
}
