//! Mapped parts of the run memory.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;

/// A mapped part of the run memory.
pub struct Mapped {
    start: *mut libc::c_void,
    len: usize,
}

impl Mapped {
    /// A part, to be read.
    ///
    /// # Errors
    /// If it can't be mapped.
    pub fn new(descriptor: &OwnedFd, offset: u64, len: usize) -> io::Result<Self> {
        Self::with(descriptor, offset, len, libc::PROT_READ)
    }

    /// A part, to be written.
    ///
    /// # Errors
    /// If it can't be mapped.
    pub fn writable(descriptor: &OwnedFd, offset: u64, len: usize) -> io::Result<Self> {
        Self::with(descriptor, offset, len, libc::PROT_READ | libc::PROT_WRITE)
    }

    fn with(descriptor: &OwnedFd, offset: u64, len: usize, protection: i32) -> io::Result<Self> {
        if len == 0 {
            return Ok(Self { start: ptr::null_mut(), len });
        }
        let fd = descriptor.as_raw_fd();
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start =
            unsafe { libc::mmap(ptr::null_mut(), len, protection, libc::MAP_SHARED, fd, offset as libc::off_t) };
        if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self { start, len }) }
    }

    /// Where it is.
    pub fn start(&self) -> *mut libc::c_void {
        self.start
    }

    /// What is there.
    pub fn bytes(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: mapped for as long as `self` lives; the slice that wrote it has exited.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.len) }
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        if self.len != 0 {
            // SAFETY: this mapping is `self`'s own.
            unsafe { libc::munmap(self.start, self.len) };
        }
    }
}

// SAFETY: nobody but its owner unmaps it, wherever that is.
unsafe impl Send for Mapped {}
// SAFETY: as before; what is shared there is accessed by atomics.
unsafe impl Sync for Mapped {}
