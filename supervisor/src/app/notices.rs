//! What the kernel tells of files that somebody opens or writes (inotify).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A file that is watched.
pub type Watch = i32;

/// What was done to a file since it was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notice {
    /// Somebody has opened it.
    pub opened: bool,
    /// Somebody has written to it by a call, or has changed its size.
    pub modified: bool,
}

/// The kernel's queue.
pub struct Notices(File);

impl Notices {
    /// An empty queue.
    ///
    /// # Errors
    /// If the user has as many as may be.
    pub fn new() -> io::Result<Self> {
        // SAFETY: a plain system call that gives a new descriptor.
        match unsafe { libc::inotify_init1(libc::IN_NONBLOCK | libc::IN_CLOEXEC) } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: the descriptor is new and nobody else owns it.
            fd => Ok(Self(unsafe { File::from_raw_fd(fd) })),
        }
    }

    /// Watches a file from now on.
    ///
    /// # Errors
    /// If this process may not read it, or there are too many watches.
    pub fn watch(&self, path: &Path) -> io::Result<Watch> {
        let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
        // SAFETY: the path is a C string.
        match unsafe { libc::inotify_add_watch(self.0.as_raw_fd(), path.as_ptr(), libc::IN_OPEN | libc::IN_MODIFY) } {
            -1 => Err(io::Error::last_os_error()),
            watch => Ok(watch),
        }
    }

    /// Watches it no more.
    pub fn forget(&self, watch: Watch) {
        // SAFETY: a plain system call.
        unsafe { libc::inotify_rm_watch(self.0.as_raw_fd(), watch) };
    }

    /// Passes on what has happened since the last time: to one file, or if the queue was too short to any.
    pub fn take(&mut self, mut tell: impl FnMut(Option<Watch>, Notice)) {
        const HEAD: usize = 16;
        let mut buffer = [0; 4096];
        loop {
            let Ok(len) = self.0.read(&mut buffer) else { return };
            let mut events = &buffer[..len];
            if events.is_empty() {
                return;
            }
            while events.len() >= HEAD {
                let word = |n: usize| u32::from_le_bytes(events[n * 4..n * 4 + 4].try_into().expect("four bytes"));
                let (watch, mask, name_len) = (word(0) as i32, word(1), word(3) as usize);
                let is_lost = mask & libc::IN_Q_OVERFLOW != 0;
                let notice = Notice {
                    opened: is_lost || mask & libc::IN_OPEN != 0,
                    modified: is_lost || mask & libc::IN_MODIFY != 0,
                };
                tell((!is_lost).then_some(watch), notice);
                events = events.get(HEAD + name_len..).unwrap_or_default();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn opening_and_writing_is_noticed() {
        let path = std::env::temp_dir().join(format!("superpin-notices-{}", std::process::id()));
        let mut file = File::create(&path).unwrap();
        let mut notices = Notices::new().unwrap();
        let watch = notices.watch(&path).unwrap();
        let mut asked = || {
            let mut all = Notice::default();
            notices.take(|which, notice| {
                assert_eq!(which, Some(watch));
                all.opened |= notice.opened;
                all.modified |= notice.modified;
            });
            (all.opened, all.modified)
        };
        assert_eq!(asked(), (false, false));
        file.write_all(b"x").unwrap();
        assert_eq!([asked(), asked()], [(false, true), (false, false)]);
        File::open(&path).unwrap();
        assert_eq!(asked(), (true, false));
        file.set_len(0).unwrap();
        assert_eq!(asked(), (false, true));
        notices.forget(watch);
        std::fs::remove_file(&path).unwrap();
    }
}
