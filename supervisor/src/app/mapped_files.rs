//! Files that the app has mapped, kept for slices that will map them again.
//!
//! A file that somebody has open for writing isn't kept: its mapping ends the slice, and the next ones get copies of
//! its contents ([`mod@super::mappings`]). One that is kept must not change until the run is over: slices look at it later than
//! the master did. So a call by which the app is about to get write access waits until no slice is left that may look, and from
//! then on the file is one that somebody writes. If it has changed in any other way, no total can be trusted.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::rc::{Rc, Weak};
use std::thread::sleep;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

use super::mappings::Mapping;
use super::places;
use crate::run_memory::OpenFiles;

/// A file: its device and its inode number.
pub type Key = (u64, u64);
/// Files by what they are.
pub type Kept = HashMap<Key, Rc<KeptFile>>;

thread_local! {
    /// How many files the run has had.
    static FILES: Cell<u32> = const { Cell::new(0) };
    /// What is kept for any process of the run.
    static ALL: RefCell<Vec<Weak<KeptOpen>>> = const { RefCell::new(Vec::new()) };
}

/// What is kept for one process.
#[derive(Default)]
struct KeptOpen {
    kept: RefCell<Kept>,
    /// The process has ended: only its slices are left.
    has_ended: Cell<bool>,
}

/// Descriptors of the app's files. Each file is held once, until it is let go or the run ends: while it is held its inode number stays its own.
///
/// They are opened anew rather than taken from the app: what is locked by the app's open file would stay locked.
pub struct KeptFiles {
    /// A descriptor of the app's process, unless that is gone.
    master: Option<OwnedFd>,
    kept_open: Rc<KeptOpen>,
    /// Slices can open what is held.
    is_reachable: bool,
    /// Where they learn how.
    told: Option<OpenFiles>,
    /// What isn't held, but has been mapped as code.
    code: RefCell<Vec<File>>,
}

/// A file that is held. In the table of files of the run, which records refer to, it is one line.
pub struct KeptFile {
    /// Its number in the run.
    number: u32,
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

    /// Whether a change made now gives the file no other time than it has: times advance by ticks of the kernel's coarse clock, or by
    /// seconds, as the file system has it.
    fn may_be_kept_by_a_change(self) -> bool {
        let Ok(now) = clock_gettime(ClockId::CLOCK_REALTIME_COARSE) else { return false };
        match self.modified {
            (seconds, 0) => seconds == now.tv_sec(),
            modified => modified == (now.tv_sec(), now.tv_nsec()),
        }
    }
}

/// Files that are kept for any process.
pub fn all_kept() -> Vec<Key> {
    ALL.with_borrow(|all| {
        let all_kept_open = all.iter().filter_map(Weak::upgrade);
        all_kept_open.flat_map(|kept_open| kept_open.kept.borrow().keys().copied().collect::<Vec<_>>()).collect()
    })
}

/// Whether slices of a process that has ended may look at a file.
pub fn is_kept_for_the_ended(key: Key) -> bool {
    ALL.with_borrow(|all| {
        let ended = all.iter().filter_map(Weak::upgrade).filter(|kept_open| kept_open.has_ended.get());
        ended.into_iter().any(|kept_open| kept_open.kept.borrow().contains_key(&key))
    })
}

impl KeptFiles {
    /// For the files of process `pid`.
    pub fn new(pid: i32) -> Self {
        // SAFETY: a plain system call that gives a new descriptor.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        // SAFETY: the descriptor is new and nobody else owns it.
        let master = (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) });
        let kept_open = Rc::new(KeptOpen::default());
        ALL.with_borrow_mut(|all| {
            all.retain(|kept_open| kept_open.strong_count() > 0);
            all.push(Rc::downgrade(&kept_open));
        });
        Self { master, kept_open, is_reachable: true, told: None, code: RefCell::default() }
    }

    /// Slices look there for what is held.
    pub fn tell(&mut self, files: OpenFiles) {
        self.told = Some(files);
    }

    /// Whether slices that start from now on can open what is held.
    pub fn set_reachable(&mut self, is_reachable: bool) {
        self.is_reachable = is_reachable;
    }

    /// For a copy of the process: it has the same mappings.
    pub fn copies(&self) -> Kept {
        self.kept_open.kept.borrow().clone()
    }

    /// The process is a copy of one for which these were kept.
    pub fn inherit(&mut self, kept: Kept) {
        self.kept_open.kept.borrow_mut().extend(kept);
    }

    /// Whether a file is kept.
    pub fn holds(&self, key: Key) -> bool {
        self.kept_open.kept.borrow().contains_key(&key)
    }

    /// No slice is left that may look at this file.
    pub fn let_go(&mut self, key: Key) {
        self.kept_open.kept.borrow_mut().remove(&key);
    }

    /// The process has ended.
    pub fn app_ended(&mut self) {
        self.kept_open.has_ended.set(true);
    }

    /// The name of a file that has changed since it was mapped.
    pub fn changed(&self) -> Option<String> {
        let kept = self.kept_open.kept.borrow();
        let changed = kept.values().find(|kept_file| {
            let now = kept_file.file.metadata().ok().and_then(|metadata| Version::of(&metadata));
            now != Some(kept_file.version)
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

    /// The app has a mapping of a file. Whether that is held: it must not change from now on. Not if somebody may write it, or it can't be found by its name.
    pub fn hold_mapped(&mut self, map: &Mapping) -> bool {
        let is_it = |metadata: Metadata| metadata.is_file() && map.is_of(metadata.ino());
        // What is no file isn't opened: that may do something.
        if map.is_shared_for_writing() || !std::fs::metadata(&map.name).is_ok_and(is_it) {
            return false;
        }
        let found = File::open(&map.name).ok().filter(|file| file.metadata().is_ok_and(is_it));
        found.is_some_and(|file| !has_writers(&file) && self.hold(&file).is_some())
    }

    /// The app has mapped code of a file at `start`.
    pub fn code_is_mapped(&self, args: [u64; 6], start: u64) {
        let (Some(files), Some(file)) = (&self.told, self.take(args[4] as i32)) else { return };
        let key = file.metadata().map(|metadata| (metadata.dev(), metadata.ino()));
        let kept = self.kept_open.kept.borrow();
        let kept = key.ok().and_then(|key| kept.get(&key)).map(|kept| kept.file.as_raw_fd());
        let is_new = |unkept: &File| places::note(&file, args, start, unkept.as_raw_fd(), files);
        match kept {
            Some(held) => _ = places::note(&file, args, start, held, files),
            // Whoever reads it later may find no other way to it.
            None => self.code.borrow_mut().extend(open_anew(&file).ok().filter(is_new)),
        }
    }

    /// Gives the file's number in the run, and a descriptor.
    fn hold(&mut self, file: &File) -> Option<(u32, i32)> {
        let metadata = file.metadata().ok()?;
        let mut version = Version::of(&metadata)?;
        let mut kept = self.kept_open.kept.borrow_mut();
        let kept_file = match kept.entry((metadata.dev(), metadata.ino())) {
            Entry::Occupied(kept_file) => kept_file.into_mut(),
            Entry::Vacant(place) => {
                let file = open_anew(file).ok()?;
                // The app has seen nothing of the mapping yet.
                while version.may_be_kept_by_a_change() {
                    sleep(TICK);
                    version = Version::of(&file.metadata().ok()?)?;
                }
                place.insert(Rc::new(KeptFile { number: FILES.replace(FILES.get() + 1), file, version }))
            }
        };
        Some((kept_file.number, kept_file.file.as_raw_fd()))
    }

    fn take(&self, fd: i32) -> Option<File> {
        // SAFETY: a plain system call that gives a new descriptor (close-on-exec).
        let own = unsafe { libc::syscall(libc::SYS_pidfd_getfd, self.master.as_ref()?.as_raw_fd(), fd, 0) };
        // SAFETY: the descriptor is new and nobody else owns it.
        (own >= 0).then(|| File::from(unsafe { OwnedFd::from_raw_fd(own as i32) }))
    }
}

/// For how long to wait until times of files have advanced.
const TICK: Duration = Duration::from_millis(1);
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

impl syscall_replay::Files for KeptFiles {
    fn keep(&mut self, fd: i32) -> Option<u32> {
        let file = self.take(fd)?;
        // What is open for writing may be about to change: its present contents are in the next fork only.
        // A slice that can't open it gets the mapping by its fork as well.
        if is_writable(&file) || !self.is_reachable {
            return None;
        }
        let (number, descriptor) = self.hold(&file)?;
        self.told.as_ref()?.set(number, descriptor).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

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

    #[test]
    fn a_change_is_seen_however_soon_it_comes() {
        let path = std::env::temp_dir().join(format!("superpin-soon-{}", std::process::id()));
        let writer = File::create(&path).unwrap();
        let reader = File::open(&path).unwrap();
        for byte in 0..20 {
            writer.write_all_at(&[byte], 0).unwrap();
            let mut files = KeptFiles::new(std::process::id() as i32);
            let key = (reader.metadata().unwrap().dev(), reader.metadata().unwrap().ino());
            assert!(files.hold(&reader).is_some() && files.holds(key) && all_kept().contains(&key));
            assert!(files.changed().is_none() && !is_kept_for_the_ended(key));
            files.app_ended();
            assert!(is_kept_for_the_ended(key));
            writer.write_all_at(&[byte + 1], 0).unwrap();
            assert!(files.changed().is_some());
            files.let_go(key);
            assert!(files.changed().is_none() && !all_kept().contains(&key));
        }
        std::fs::remove_file(&path).unwrap();
    }
}
