//! What the app's mappings show of a file that is written, which slices are told.

use machine::Memory;
use syscall_replay::effects::View;

use crate::app::{Mapping, MutableFiles};

/// Bytes of views that are recorded for a call: a boundary is cheaper than more.
const MOST_SHOWN: u64 = 1 << 20;

/// Whether what mappings show of the file with this inode can be read, and is known to slices: in theirs, what is stored to a shared one doesn't
/// show in a private one.
pub fn can_be_told(mappings: &[Mapping], inode: u64) -> bool {
    let views = || mappings.iter().filter(|map| map.is_of(inode));
    let is_stored_to = views().any(|map| map.is_shared && map.protection & libc::PROT_WRITE != 0);
    let is_private = views().any(|map| !map.is_shared);
    views().all(|map| map.protection & libc::PROT_READ != 0) && !(is_stored_to && is_private)
}

/// Whether what is stored by one mapping of the file with this inode shows in another. What a slice gets for pages that the file hadn't before is each mapping's own.
pub fn are_one(mappings: &[Mapping], inode: u64) -> bool {
    let mut views = mappings.iter().filter(|map| map.is_of(inode));
    views.clone().count() > 1 && views.any(|map| map.is_shared && map.protection & libc::PROT_WRITE != 0)
}

/// What mappings of the file with this inode show of this piece of it.
pub fn views(
    mappings: &[Mapping],
    inode: u64,
    [start, end]: [u64; 2],
    master: &(impl Memory + ?Sized),
    mutable_files: &MutableFiles,
) -> Option<Vec<View>> {
    let (mut shown, mut views) = (0, Vec::new());
    for map in mappings.iter().filter(|map| map.is_of(inode)) {
        let (from, to) = (start.max(map.offset), end.min(map.offset + map.len()));
        if from >= to {
            continue;
        }
        shown += to - from;
        // Slices have nothing of their own in place of any other mapping.
        if !mutable_files.has(map) || shown > MOST_SHOWN {
            return None;
        }
        let mut view = View { address: map.start + (from - map.offset), bytes: vec![0; (to - from) as usize] };
        master.read(view.address, &mut view.bytes).ok()?;
        views.push(view);
    }
    Some(views)
}
