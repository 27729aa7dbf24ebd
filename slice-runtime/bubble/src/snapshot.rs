//! The snapshot: what an image's memory holds once its libc and what all slices need alike have started.
//!
//! The first slice of a run starts the image as a program starts, and leaves a snapshot of its private memory behind in the run memory. Later slices
//! have that mapped (privately: they change copies of their own) and go on from where it was taken.
//!
//! ```text
//!   CONTROL ... slots | SnapshotHeader          file::SNAPSHOT_AT: the pieces, one behind the other
//! ```

use std::sync::atomic::{AtomicU32, Ordering};

use crate::map::{CONTROL, SNAPSHOT, file};
use crate::shared::{MAX_SLOTS, slot_at};

/// Pieces that a snapshot has: the image's data, its libc's heap, its heap, its stack.
pub const PIECES: usize = 4;

/// States of a snapshot.
mod state {
    pub const NONE: u32 = 0;
    pub const BEING_MADE: u32 = 1;
    pub const DONE: u32 = 2;
}

/// A range of memory. All in whole pages.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// First address.
    pub start: u64,
    /// Bytes.
    pub len: u64,
    /// Bytes behind them that are accessible as well, and zero.
    pub zeroes: u64,
}

/// What has to be known to go on from a snapshot.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Their contents lie in the file in this order.
    pub pieces: [Piece; PIECES],
    /// Where to go on.
    pub resume: u64,
    /// With what stack pointer.
    pub stack: u64,
}

impl Contents {
    /// Each piece, with where its contents lie in the run memory.
    pub fn placed(&self) -> impl Iterator<Item = (Piece, u64)> {
        let mut at = file::SNAPSHOT_AT;
        self.pieces.into_iter().map(move |piece| {
            let here = at;
            at += piece.len;
            (piece, here)
        })
    }

    /// Bytes of all pieces.
    pub fn len(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len).sum()
    }

    /// Whether it is no snapshot of anything.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The shared face of the snapshot.
#[repr(C)]
pub struct SnapshotHeader {
    state: AtomicU32,
    contents: Contents,
}

/// Offset of the header in CONTROL.
pub const HEADER_AT: usize = slot_at(MAX_SLOTS).next_multiple_of(64);

const _: () = assert!(HEADER_AT + size_of::<SnapshotHeader>() <= CONTROL.size as usize);

impl SnapshotHeader {
    /// The contents, if the snapshot is complete.
    ///
    /// # Safety
    /// `header` points to the header in a mapping of CONTROL.
    pub unsafe fn read(header: *const Self) -> Option<Contents> {
        // SAFETY: the caller's promise; nobody writes the contents any more once the state says so.
        unsafe { ((*header).state.load(Ordering::Acquire) == state::DONE).then(|| (*header).contents) }
    }

    /// Has `take` write the pieces, if nobody has begun to and they fit. If this process dies meanwhile, there will be no snapshot.
    ///
    /// # Safety
    /// `header` points to the header in a mapping of CONTROL.
    pub unsafe fn make(header: *mut Self, contents: Contents, take: impl FnOnce(&Contents)) {
        // SAFETY: the caller's promise.
        let state = unsafe { &(*header).state };
        if contents.len() > SNAPSHOT.size
            || state.compare_exchange(state::NONE, state::BEING_MADE, Ordering::Acquire, Ordering::Relaxed).is_err()
        {
            return;
        }
        take(&contents);
        // SAFETY: the state says that this process alone writes the contents.
        unsafe { (&raw mut (*header).contents).write(contents) };
        state.store(state::DONE, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_is_made_once() {
        let mut header = SnapshotHeader { state: AtomicU32::new(state::NONE), contents: Contents::default() };
        let header = &raw mut header;
        let piece = |start, len| Piece { start, len, zeroes: 0 };
        let pieces = [piece(0x1000, 0x2000), piece(0x8000, 0x1000), piece(0x9000, 0x3000), piece(0xf000, 0x1000)];
        let contents = Contents { pieces, resume: 1, stack: 2 };
        // SAFETY: a local variable.
        unsafe {
            assert_eq!(SnapshotHeader::read(header), None);
            SnapshotHeader::make(header, contents, |_| assert_eq!(SnapshotHeader::read(header), None));
            assert_eq!(SnapshotHeader::read(header), Some(contents));
            SnapshotHeader::make(header, Contents::default(), |_| panic!("made twice"));
        }
        let offsets: Vec<u64> = contents.placed().map(|(_, at)| at - file::SNAPSHOT_AT).collect();
        assert_eq!(offsets, [0, 0x2000, 0x3000, 0x6000]);
    }

    #[test]
    fn what_does_not_fit_is_not_made() {
        let mut header = SnapshotHeader { state: AtomicU32::new(state::NONE), contents: Contents::default() };
        let large = Piece { start: 0, len: SNAPSHOT.size + 1, zeroes: 0 };
        let contents = Contents { pieces: [large; PIECES], ..Contents::default() };
        // SAFETY: a local variable.
        unsafe { SnapshotHeader::make(&raw mut header, contents, |_| panic!("it can't be written")) };
    }
}
