//! Where, while the app runs, the files are that its mappings are of.
//!
//! Records name a file by its number in the run, which means the same to whoever replays them. What the number stands for (device, inode, size, times, name)
//! the control process knows, which holds the file; a slice only has to get at it, and looks up here which descriptor of the control process that is now.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::map::CONTROL;
use crate::snapshot::{HEADER_AT, SnapshotHeader};

/// Files of a run at most.
pub const MOST_FILES: usize = 1 << 18;

/// Offset of the table in CONTROL.
pub const FILES_AT: usize = (HEADER_AT + size_of::<SnapshotHeader>()).next_multiple_of(4096);

/// First byte of CONTROL behind it.
pub const FILES_END: usize = FILES_AT + size_of::<FileTable>();

const _: () = assert!(FILES_END <= CONTROL.size as usize);

/// Descriptors of the control process by number of the file. All zeros is an empty one.
#[repr(transparent)]
pub struct FileTable([AtomicU32; MOST_FILES]);

impl FileTable {
    /// The table in a mapping of CONTROL.
    ///
    /// # Safety
    /// CONTROL is mapped at `control` for as long as this is used.
    pub unsafe fn at<'a>(control: *const u8) -> &'a Self {
        // SAFETY: the table lies in CONTROL, is aligned, and any bytes are one; its words are atomic.
        unsafe { &*control.add(FILES_AT).cast::<Self>() }
    }

    /// File `number` is open as `descriptor`. False if there is no room for that number.
    pub fn set(&self, number: u32, descriptor: u32) -> bool {
        let Some(word) = self.0.get(number as usize) else { return false };
        word.store(descriptor + 1, Ordering::Release);
        true
    }

    /// As what file `number` is open.
    pub fn descriptor(&self, number: u32) -> Option<u32> {
        self.0.get(number as usize)?.load(Ordering::Acquire).checked_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_leads_to_its_descriptor() {
        let memory = vec![0_u64; FILES_END / 8];
        // SAFETY: as long as the part of CONTROL that is looked at.
        let table = unsafe { FileTable::at(memory.as_ptr().cast()) };
        assert_eq!(table.descriptor(7), None);
        assert!(table.set(7, 0) && table.set(MOST_FILES as u32 - 1, 1023));
        assert_eq!([7, MOST_FILES as u32 - 1].map(|number| table.descriptor(number)), [Some(0), Some(1023)]);
        assert!(!table.set(MOST_FILES as u32, 5) && table.descriptor(MOST_FILES as u32).is_none());
    }
}
