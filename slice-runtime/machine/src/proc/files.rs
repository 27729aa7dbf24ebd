//! Files of /proc, in a process that may not see the directory of that name: one that has changed its root.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI32, Ordering};

/// Room for what is read.
const ROOM: usize = 1 << 14;

/// Where files are looked for: a descriptor of /proc, or none.
static ROOT: AtomicI32 = AtomicI32::new(libc::AT_FDCWD);

/// From now on files are looked for in the directory `descriptor`, which stays open.
pub fn look_in(descriptor: i32) {
    ROOT.store(descriptor, Ordering::Relaxed);
}

/// Opens /proc/`path` for reading.
///
/// # Errors
/// As open(2).
pub fn open(path: impl AsRef<Path>) -> io::Result<File> {
    open_with(path, libc::O_RDONLY)
}

/// Opens /proc/`path` for reading and writing.
///
/// # Errors
/// As open(2).
pub fn open_to_write(path: impl AsRef<Path>) -> io::Result<File> {
    open_with(path, libc::O_RDWR)
}

fn open_with(path: impl AsRef<Path>, flags: i32) -> io::Result<File> {
    let root = ROOT.load(Ordering::Relaxed);
    let start = if root == libc::AT_FDCWD { "/proc" } else { "." };
    let whole = CString::new(Path::new(start).join(path).as_os_str().as_bytes())?;
    // SAFETY: the path is a C string.
    match unsafe { libc::openat(root, whole.as_ptr(), flags | libc::O_CLOEXEC) } {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: the descriptor is new and nobody else owns it.
        fd => Ok(unsafe { File::from_raw_fd(fd) }),
    }
}

/// Where the link /proc/`path` leads.
///
/// # Errors
/// As readlink(2).
pub fn read_link(path: impl AsRef<Path>) -> io::Result<PathBuf> {
    let root = ROOT.load(Ordering::Relaxed);
    let start = if root == libc::AT_FDCWD { "/proc" } else { "." };
    let whole = CString::new(Path::new(start).join(path).as_os_str().as_bytes())?;
    let mut text = vec![0_u8; libc::PATH_MAX as usize];
    // SAFETY: the path is a C string, and the text has as much room as it says.
    let len = unsafe { libc::readlinkat(root, whole.as_ptr(), text.as_mut_ptr().cast(), text.len()) };
    text.truncate(usize::try_from(len).map_err(|_| io::Error::last_os_error())?);
    Ok(OsString::from_vec(text).into())
}

/// Reads all of /proc/`path`.
///
/// # Errors
/// As open(2) and read(2).
pub fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    // The kernel tells no length, and makes a page of text at a time: less room costs many calls.
    let mut text = String::with_capacity(ROOM);
    open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::os::fd::IntoRawFd;

    use super::*;

    #[test]
    fn files_are_found_by_name_and_by_directory() {
        let first = |text: String| text.lines().next().map(str::to_owned);
        let by_name = first(read_to_string("self/status").unwrap());
        look_in(File::open("/proc").unwrap().into_raw_fd());
        assert_eq!(first(read_to_string("self/status").unwrap()), by_name);
        assert!(open("self/nothing").is_err());
    }
}
