//! Where this process's own files lie among its descriptors.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The same file on a descriptor that can't be taken for a standard one, should those have been closed.
pub fn above_standard(file: &File) -> io::Result<File> {
    // SAFETY: plain system call; the result is a new descriptor that nobody else owns.
    unsafe {
        match libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 10) {
            -1 => Err(io::Error::last_os_error()),
            fd => Ok(File::from(OwnedFd::from_raw_fd(fd))),
        }
    }
}
