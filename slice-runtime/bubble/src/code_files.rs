//! Which mappings of files the code in the shared code cache is from. The control process looks at them when a run's
//! translations are kept for the next one.
//!
//! ```text
//!   TABLES   + 0       what concerns this run only, see the engine's tables; never kept
//!            + 4 KiB   CodeFiles
//!                      the rest of the engine's tables
//! ```

use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Bytes at the start of [`crate::map::TABLES`] that say nothing to another run.
pub const OF_ONE_RUN: u64 = 4096;
/// Mappings whose code can be shared in one run; further ones are translated by each slice for itself.
pub const MAX_FILES: usize = 1024;
/// Bytes of a path.
const PATH_BYTES: usize = 510;

/// A mapping of a file, by its place and its contents' identity.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRegion {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Offset in the file.
    pub offset: u64,
    /// Device: major number in the upper half, minor in the lower.
    pub device: u64,
    /// Inode.
    pub inode: u64,
}

impl FileRegion {
    /// It, unless it is of memory that is no file's.
    pub fn if_of_file(self) -> Option<Self> {
        (self.inode != 0).then_some(self)
    }

    /// Whether this is of the file that the kernel tells this of.
    pub fn is_of(&self, metadata: &Metadata) -> bool {
        (self.device, self.inode) == (device_of(metadata), metadata.ino())
    }
}

/// A file's device, as in [`FileRegion::device`].
pub fn device_of(metadata: &Metadata) -> u64 {
    // The C library's encoding of both numbers in one.
    let (major, minor) = (libc::major(metadata.dev()), libc::minor(metadata.dev()));
    u64::from(major) << 32 | u64::from(minor)
}

/// The state of a file: when its contents change, so does this.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileVersion {
    /// Bytes.
    pub size: u64,
    /// Nanoseconds since 1970 when it was last modified, as those say who may set that.
    pub modified: i64,
    /// The same, as the kernel says.
    pub changed: i64,
}

/// Times of change are told in steps: what was changed within so many nanoseconds may be changed again without another time.
const STEP: i64 = 2_000_000_000;

impl FileVersion {
    /// From what the kernel tells of a file.
    pub fn of(metadata: &Metadata) -> Self {
        let nanoseconds = |seconds: i64, rest| seconds.saturating_mul(1_000_000_000).saturating_add(rest);
        Self {
            size: metadata.size(),
            modified: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
            changed: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
        }
    }

    /// Whether any further change shows. `now`: nanoseconds since 1970.
    pub fn is_settled(&self, now: i64) -> bool {
        self.modified.max(self.changed).saturating_add(STEP) < now
    }
}

#[repr(C)]
#[derive(Clone, Copy)]
struct FilePath {
    /// 0 if it isn't known.
    len: u16,
    bytes: [u8; PATH_BYTES],
}

/// The mappings. None is ever taken out or changed.
#[repr(C, align(4096))]
pub struct CodeFiles {
    count: AtomicU32,
    regions: [FileRegion; MAX_FILES],
    versions: [FileVersion; MAX_FILES],
    paths: [FilePath; MAX_FILES],
}

impl CodeFiles {
    /// Those that were added so far, in order.
    pub fn regions(&self) -> &[FileRegion] {
        &self.regions[..self.len()]
    }

    /// What the files were when the mappings were added, if that is to be known beyond this run.
    pub fn versions(&self) -> &[FileVersion] {
        &self.versions[..self.len()]
    }

    /// The path by which the process that added the mapping knew its file, if that could be told.
    pub fn path(&self, number: usize) -> Option<PathBuf> {
        let FilePath { len, bytes } = self.paths[..self.len()].get(number)?;
        let path = bytes.get(..usize::from(*len)).filter(|path| !path.is_empty())?;
        Some(Path::new(std::ffi::OsStr::from_bytes(path)).to_owned())
    }

    fn len(&self) -> usize {
        (self.count.load(Ordering::Acquire) as usize).min(MAX_FILES)
    }

    /// Adds one. False if there is no room.
    ///
    /// # Safety
    /// The memory must be valid, and nobody else may be adding one.
    pub unsafe fn add(this: *mut Self, region: &FileRegion, version: FileVersion, path: &[u8]) -> bool {
        // SAFETY: the caller's promise.
        let number = unsafe { &(*this).count }.load(Ordering::Relaxed) as usize;
        if number >= MAX_FILES {
            return false;
        }
        // SAFETY: as above; entries from the count on belong to whoever adds.
        unsafe {
            (*this).regions[number] = *region;
            (*this).versions[number] = version;
            let place = &mut (*this).paths[number];
            let known = path.len() <= PATH_BYTES;
            place.len = if known { path.len() as u16 } else { 0 };
            if known {
                place.bytes[..path.len()].copy_from_slice(path);
            }
            (*this).count.store(number as u32 + 1, Ordering::Release);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_in_the_order_in_which_they_came() {
        let mut files = Box::<CodeFiles>::new_uninit();
        // SAFETY: zero is a value of all that it has.
        let mut files = unsafe {
            files.as_mut_ptr().write_bytes(0, 1);
            files.assume_init()
        };
        let region = |start| FileRegion { start, end: start + 4096, offset: 0, device: 1, inode: 2 };
        // SAFETY: nobody else adds any.
        let add = |files: &mut CodeFiles, start, path: &[u8]| unsafe {
            CodeFiles::add(files, &region(start), FileVersion { size: start, ..FileVersion::default() }, path)
        };
        assert!(files.regions().is_empty() && files.path(0).is_none());
        assert!(add(&mut files, 4096, b"/lib/a b"));
        assert!(add(&mut files, 8192, &[b'x'; PATH_BYTES + 1]));
        assert_eq!(files.regions(), [region(4096), region(8192)]);
        assert_eq!(files.versions().iter().map(|version| version.size).collect::<Vec<_>>(), [4096, 8192]);
        assert_eq!((files.path(0), files.path(1)), (Some("/lib/a b".into()), None));
        while add(&mut files, 1 << 20, b"") {}
        assert_eq!(files.regions().len(), MAX_FILES);
    }

    #[test]
    fn a_file_is_settled_when_a_change_would_show() {
        let version = FileVersion { size: 1, modified: 10 * STEP, changed: 11 * STEP };
        assert!(!version.is_settled(10 * STEP) && !version.is_settled(12 * STEP) && version.is_settled(12 * STEP + 1));
        assert!(!FileVersion { modified: 12 * STEP, ..version }.is_settled(13 * STEP));
        let path = std::env::current_exe().unwrap();
        let now = FileVersion::of(&path.metadata().unwrap());
        assert_eq!(now, FileVersion::of(&path.metadata().unwrap()));
        assert!(now.size > 0 && now.changed > 0 && !now.is_settled(now.changed) && now.is_settled(i64::MAX));
    }
}
