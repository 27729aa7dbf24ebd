//! Files that the app has mapped, kept for slices that will map them again.
//!
//! A file that somebody has open for writing isn't kept: its mapping ends the slice, and the next ones get copies of
//! its contents ([`super::shared_maps`]). One that is kept must not change until the run is over: slices look at it later than
//! the master did. If it has changed, no total can be trusted.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use syscall_replay::Files;

/// Descriptors of the app's files. Each file is held once, until the run ends: while it is held its inode number stays its own.
///
/// They are opened anew rather than taken from the app: what is locked by the app's open file would stay locked.
pub struct KeptFiles {
    /// A descriptor of the app's process, unless that is gone.
    master: Option<OwnedFd>,
    held: HashMap<(u64, u64), Held>,
    /// Slices can open what is held.
    is_reachable: bool,
}

struct Held {
    file: File,
    /// When it was mapped first.
    version: Version,
}

/// Two looks at a file that find the same have seen the same contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version {
    size: u64,
    modified: (i64, i64),
}

impl Version {
    /// `None` for what isn't a file with contents of its own (a device).
    fn of(metadata: &Metadata) -> Option<Self> {
        let modified = (metadata.mtime(), metadata.mtime_nsec());
        metadata.is_file().then_some(Self { size: metadata.size(), modified })
    }
}

impl KeptFiles {
    /// For the files of process `pid`.
    pub fn new(pid: i32) -> Self {
        // SAFETY: a plain system call that gives a new descriptor.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        // SAFETY: the descriptor is new and nobody else owns it.
        let master = (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) });
        Self { master, held: HashMap::new(), is_reachable: true }
    }

    /// Whether slices that start from now on can open what is held.
    pub fn set_reachable(&mut self, is_reachable: bool) {
        self.is_reachable = is_reachable;
    }

    /// The name of a file that has changed since it was mapped.
    pub fn changed(&self) -> Option<String> {
        let changed = self.held.values().find(|held| {
            let now = held.file.metadata().ok().and_then(|metadata| Version::of(&metadata));
            now != Some(held.version)
        })?;
        let link = format!("/proc/self/fd/{}", changed.file.as_raw_fd());
        Some(std::fs::read_link(link).map_or_else(|_| "a file".into(), |path| path.to_string_lossy().into_owned()))
    }

    /// The app has mapped the file of its descriptor `fd`. Whether it is open for writing; if not, it must not change from now on.
    pub fn may_change(&mut self, fd: i32) -> bool {
        let Some(file) = self.take(fd) else { return false };
        let writable = is_writable(&file);
        if !writable {
            self.hold(&file);
        }
        writable
    }

    fn hold(&mut self, file: &File) -> Option<&Held> {
        let metadata = file.metadata().ok()?;
        let version = Version::of(&metadata)?;
        match self.held.entry((metadata.dev(), metadata.ino())) {
            Entry::Occupied(held) => Some(held.into_mut()),
            Entry::Vacant(place) => Some(place.insert(Held { file: open_anew(file).ok()?, version })),
        }
    }

    fn take(&self, fd: i32) -> Option<File> {
        // SAFETY: a plain system call that gives a new descriptor (close-on-exec).
        let own = unsafe { libc::syscall(libc::SYS_pidfd_getfd, self.master.as_ref()?.as_raw_fd(), fd, 0) };
        // SAFETY: the descriptor is new and nobody else owns it.
        (own >= 0).then(|| File::from(unsafe { OwnedFd::from_raw_fd(own as i32) }))
    }
}

/// fcntl(2): which signal tells of events of a descriptor.
const F_SETSIG: i32 = 10;

/// Whether the file is open for writing, by this descriptor or, as far as the kernel tells, by any other.
fn is_writable(file: &File) -> bool {
    // SAFETY: a plain system call on a descriptor of ours.
    let mode = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) } & libc::O_ACCMODE;
    mode != libc::O_RDONLY || has_writers(file)
}

/// The same file by another open file, for reading.
fn open_anew(file: &File) -> io::Result<File> {
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

/// A lease for reading is granted only while nobody can write; it is asked for and given back. The kernel grants leases on a
/// user's own files.
fn has_writers(file: &File) -> bool {
    // Not on the app's own open file, which would remember who asked.
    let Ok(own) = open_anew(file) else { return false };
    // SAFETY: plain system calls on a descriptor of ours.
    unsafe {
        // Who opens the file for writing meanwhile has the holder told, by SIGIO, which kills, or by another signal.
        libc::fcntl(own.as_raw_fd(), F_SETSIG, libc::SIGURG);
        let granted = libc::fcntl(own.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK);
        let refused = granted == -1 && io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN);
        libc::fcntl(own.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK);
        refused
    }
}

impl Files for KeptFiles {
    fn keep(&mut self, fd: i32) -> Option<u32> {
        let file = self.take(fd)?;
        // What is open for writing may be about to change: its present contents are in the next fork only.
        // A slice that can't open it gets the mapping by its fork as well.
        if is_writable(&file) || !self.is_reachable {
            return None;
        }
        self.hold(&file).map(|held| held.file.as_raw_fd() as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_somebody_writes_is_told_from_others() {
        let path = std::env::temp_dir().join(format!("superpin-writers-{}", std::process::id()));
        let writer = File::create(&path).unwrap();
        let reader = File::open(&path).unwrap();
        assert!(is_writable(&writer) && is_writable(&reader));
        drop(writer);
        assert!(!is_writable(&reader));
        std::fs::remove_file(&path).unwrap();
    }
}
