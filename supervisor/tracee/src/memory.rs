//! Memory of a stopped process.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use machine::{Memory, MemoryError};

use crate::stop::Stopped;

/// Reads as the app would; writes reach read-only pages as well (as a debugger's do), which code patches
/// and set-up need.
impl Memory for Stopped {
    fn read(&self, address: u64, buf: &mut [u8]) -> Result<(), MemoryError> {
        let local = libc::iovec { iov_base: buf.as_mut_ptr().cast(), iov_len: buf.len() };
        let remote = libc::iovec { iov_base: address as *mut _, iov_len: buf.len() };
        // SAFETY: `local` is an exclusive borrow; the remote range is checked by the kernel.
        let n = unsafe { libc::process_vm_readv(self.pid(), &local, 1, &remote, 1, 0) };
        if n == buf.len() as isize { Ok(()) } else { Err(MemoryError { address, len: buf.len() }) }
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let local = libc::iovec { iov_base: bytes.as_ptr() as *mut _, iov_len: bytes.len() };
        let remote = libc::iovec { iov_base: address as *mut _, iov_len: bytes.len() };
        // SAFETY: the kernel only reads `local` and checks the remote range.
        let n = unsafe { libc::process_vm_writev(self.pid(), &local, 1, &remote, 1, 0) };
        if n == bytes.len() as isize {
            return Ok(());
        }
        let failed = MemoryError { address, len: bytes.len() };
        let file = OpenOptions::new().write(true).open(format!("/proc/{}/mem", self.pid())).map_err(|_| failed)?;
        file.write_all_at(bytes, address).map_err(|_| failed)
    }
}
