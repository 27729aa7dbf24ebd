//! Memory of a process, here or in a tracee, behind one trait: recording, replay and signatures are
//! written once and used from both sides.

use std::fmt;

use crate::PAGE;

/// An access that did not succeed: the first address that could not be reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryError {
    /// Start of the access.
    pub address: u64,
    /// Its length in bytes.
    pub len: usize,
}

impl fmt::Display for MemoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot access {} bytes of app memory at {:#x}", self.len, self.address)
    }
}

impl std::error::Error for MemoryError {}

/// Memory of one process.
pub trait Memory {
    /// Fills `buf` from `address`.
    ///
    /// # Errors
    /// If any byte of the range isn't readable; `buf` then holds nothing meaningful.
    fn read(&self, address: u64, buf: &mut [u8]) -> Result<(), MemoryError>;

    /// Stores `bytes` at `address`.
    ///
    /// # Errors
    /// If any byte of the range isn't writable; some of it may have been written.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError>;

    /// Reads as much as is readable from `address` on, at most `buf.len()` bytes, and returns how much.
    fn read_prefix(&self, address: u64, buf: &mut [u8]) -> usize {
        // Nearly always all of it can be read, which is one system call for other processes' memory.
        if self.read(address, buf).is_ok() {
            return buf.len();
        }
        let mut done = 0;
        while done < buf.len() {
            let at = address.wrapping_add(done as u64);
            let in_page = (PAGE - at % PAGE) as usize;
            let n = in_page.min(buf.len() - done);
            if self.read(at, &mut buf[done..done + n]).is_err() {
                break;
            }
            done += n;
        }
        done
    }

    /// Reads one little-endian 64-bit word.
    ///
    /// # Errors
    /// If the word isn't readable.
    fn read_u64(&self, address: u64) -> Result<u64, MemoryError> {
        let mut word = [0; 8];
        self.read(address, &mut word)?;
        Ok(u64::from_le_bytes(word))
    }

    /// Reads a C string of at most `max` bytes, without its terminator.
    ///
    /// # Errors
    /// If the string runs into unreadable memory or has no terminator within `max` bytes.
    fn read_c_string(&self, address: u64, max: usize) -> Result<Vec<u8>, MemoryError> {
        let mut string = Vec::new();
        let mut chunk = [0; 256];
        while string.len() < max {
            let n = self.read_prefix(address + string.len() as u64, &mut chunk);
            if let Some(end) = chunk[..n].iter().position(|&b| b == 0) {
                string.extend_from_slice(&chunk[..end]);
                return Ok(string);
            }
            if n < chunk.len() {
                break;
            }
            string.extend_from_slice(&chunk);
        }
        Err(MemoryError { address, len: string.len() + 1 })
    }
}

/// The memory of the process this code runs in (or of a relative), accessed through the kernel so that a bad
/// address is an error and not a fault.
#[derive(Clone, Copy, Debug)]
pub struct Here {
    pid: libc::pid_t,
}

impl Here {
    /// This process, by the number of the calling thread: it is good as long as that lives. A process whose first thread has ended has no memory by
    /// its own number. Make a new one after a fork.
    pub fn new() -> Self {
        // SAFETY: gettid has no preconditions.
        Self { pid: unsafe { libc::gettid() } }
    }
}

impl Here {
    /// A process that this one may inspect.
    pub fn of(pid: libc::pid_t) -> Self {
        Self { pid }
    }
}

impl Default for Here {
    fn default() -> Self {
        Self::new()
    }
}

impl Memory for Here {
    fn read(&self, address: u64, buf: &mut [u8]) -> Result<(), MemoryError> {
        let local = libc::iovec { iov_base: buf.as_mut_ptr().cast(), iov_len: buf.len() };
        let remote = libc::iovec { iov_base: address as *mut _, iov_len: buf.len() };
        // SAFETY: `local` is an exclusive borrow; the kernel checks the remote range.
        let n = unsafe { libc::process_vm_readv(self.pid, &local, 1, &remote, 1, 0) };
        if n == buf.len() as isize { Ok(()) } else { Err(MemoryError { address, len: buf.len() }) }
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        let local = libc::iovec { iov_base: bytes.as_ptr() as *mut _, iov_len: bytes.len() };
        let remote = libc::iovec { iov_base: address as *mut _, iov_len: bytes.len() };
        // SAFETY: the kernel only reads `local` and checks the remote range. That the caller may
        // overwrite memory of this process is what this type is for: it names app memory.
        let n = unsafe { libc::process_vm_writev(self.pid, &local, 1, &remote, 1, 0) };
        if n == bytes.len() as isize { Ok(()) } else { Err(MemoryError { address, len: bytes.len() }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_addresses_are_errors() {
        let here = Here::new();
        let word = 0x1122_3344_5566_7788_u64;
        assert_eq!(here.read_u64(&raw const word as u64), Ok(word));
        assert_eq!(here.read_u64(8), Err(MemoryError { address: 8, len: 8 }));
        assert!(Here::new().write(8, &[0]).is_err());
    }

    #[test]
    fn strings_end_at_their_terminator() {
        let text = b"a\0b";
        assert_eq!(Here::new().read_c_string(text.as_ptr() as u64, 10).unwrap(), b"a");
        assert!(Here::new().read_c_string(0, 10).is_err());
    }
}
