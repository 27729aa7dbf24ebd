//! Mappings of parts of the run memory.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

use bubble::app_images::AppImages;
use bubble::files::FileTable;

/// Tells the slices of one process where files of the run are.
pub struct OpenFiles {
    pub(super) control: View,
    pub(super) app_images: View,
}

impl OpenFiles {
    /// File `number` is open as `descriptor`. False if there is no room for that number.
    pub fn set(&self, number: u32, descriptor: i32) -> bool {
        // SAFETY: the view starts where CONTROL does, reaches behind the table, and lives as long as this.
        unsafe { FileTable::at(self.control.start.as_ptr()) }.set(number, descriptor as u32)
    }

    /// Where code of files is mapped.
    pub fn app_images(&self) -> &AppImages {
        // SAFETY: the view is that of the table, and lives as long as this.
        unsafe { AppImages::at(self.app_images.start.as_ptr()) }
    }
}

/// A mapping of a part of the run memory.
pub(super) struct View {
    pub(super) start: NonNull<u8>,
    pub(super) len: usize,
}

impl View {
    pub(super) fn new(memory: &File, offset: u64, len: u64) -> io::Result<Self> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len as usize,
                protection,
                libc::MAP_SHARED,
                memory.as_raw_fd(),
                offset as i64,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { start: NonNull::new(start.cast()).expect("mmap gives no null"), len: len as usize })
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: the mapping is this view's own and nothing borrows from it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}
