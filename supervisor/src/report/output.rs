//! Files that results and reports go to.
//!
//! Whether a file can be written is looked at before the app starts, without any effect: the app must not meet a file that it
//! wouldn't meet natively. It is written when all that belongs into it is known, beside its place, and renamed: what was there
//! before stays until then, and if the run fails.

use std::ffi::{CString, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// As many links as the kernel follows.
const MOST_LINKS: usize = 40;
/// Bytes of a name that leave room for what is put around it: the kernel's limit is 255.
const LONGEST_NAME: usize = 200;

/// Where a text goes at the end.
pub enum Output {
    /// A descriptor, a pipe or a device: others may write there, too.
    Stream(File),
    /// A file.
    File(PathBuf),
}

impl Output {
    /// Looks whether [`Self::open`] and [`Self::write`] can work. Has no effect.
    ///
    /// # Errors
    /// Why not.
    pub fn check(path: &Path) -> io::Result<()> {
        if let Some(fd) = descriptor(path) {
            return is_written_through(fd);
        }
        match path.metadata() {
            Ok(found) if found.is_dir() => Err(io::Error::from_raw_os_error(libc::EISDIR)),
            Ok(_) => may(path, libc::W_OK),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.as_os_str().is_empty() => {
                may(folder(&end_of_links(path)?), libc::W_OK | libc::X_OK)
            }
            Err(error) => Err(error),
        }
    }

    /// Whether all processes would write to the same file, pipe or device.
    pub fn is_shared(path: &Path) -> bool {
        descriptor(path).is_some() || path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
    }

    /// What a path names. Of a file there is one for each process: to the name of that of a process that the app has started (`process` isn't 0)
    /// its number is added.
    ///
    /// # Errors
    /// If a descriptor, pipe or device can't be opened.
    pub fn open(path: &Path, process: u32) -> io::Result<Self> {
        if let Some(fd) = descriptor(path) {
            is_written_through(fd)?;
            // SAFETY: it is open, and used for this call only.
            let named = unsafe { BorrowedFd::borrow_raw(fd) };
            return named.try_clone_to_owned().map(|fd| Self::Stream(fd.into()));
        }
        if Self::is_shared(path) {
            return OpenOptions::new().write(true).open(path).map(Self::Stream);
        }
        let mut name = path.as_os_str().to_owned();
        if process != 0 {
            name.push(format!(".{process}"));
        }
        Ok(Self::File(name.into()))
    }

    /// Writes all of a text.
    ///
    /// # Errors
    /// If it can't be written; a file is then what it was before, if that is possible.
    pub fn write(&mut self, text: &[u8]) -> io::Result<()> {
        match self {
            Self::Stream(file) => file.write_all(text),
            Self::File(path) => write_file(path, text),
        }
    }
}

/// Files that grow before they have their place.
impl Output {
    /// An empty file without a name, where it can become what is named, or, where that isn't possible, and for a descriptor, a pipe or a device, in the folder for temporary files. Nothing of it stays behind if its owner is killed.
    ///
    /// # Errors
    /// If none can be made.
    pub fn part(&self) -> io::Result<File> {
        let folder = match self {
            Self::Stream(_) => std::env::temp_dir(),
            Self::File(path) => folder(&end_of_links(path)?).to_owned(),
        };
        match Self::part_in(&folder) {
            // The file may be written, but there can be no other one beside it.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EROFS)) => {
                Self::part_in(&std::env::temp_dir()).map_err(|_| error)
            }
            made => made,
        }
    }

    fn part_in(folder: &Path) -> io::Result<File> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).mode(0o666);
        let nameless = options.clone().custom_flags(libc::O_TMPFILE).open(folder);
        nameless.or_else(|_| {
            static NUMBER: AtomicU32 = AtomicU32::new(0);
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!(".superpin-{}-{number}", std::process::id()));
            let file = options.create_new(true).open(&path)?;
            fs::remove_file(&path)?;
            Ok(file)
        })
    }

    /// What takes bytes as they come: a descriptor, a pipe or a device. None for a file, which is to be whole when it is there.
    pub fn as_stream(&mut self) -> Option<&mut File> {
        match self {
            Self::Stream(file) => Some(file),
            Self::File(_) => None,
        }
    }

    /// Makes a file, which [`Self::part`] has made, what is named. It isn't copied if it can have the name.
    ///
    /// # Errors
    /// If it can't be written.
    pub fn take(&mut self, mut whole: File) -> io::Result<()> {
        let path = match self {
            Self::Stream(file) => {
                whole.rewind()?;
                return io::copy(&mut whole, file).map(drop);
            }
            Self::File(path) => end_of_links(path)?,
        };
        let found = path.metadata().ok();
        if found.as_ref().is_none_or(|found| found.nlink() == 1 && found.is_file())
            && name(&whole, &path, found.as_ref()).is_ok()
        {
            return Ok(());
        }
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&path)?;
        whole.rewind()?;
        io::copy(&mut whole, &mut file).map(drop)
    }
}

/// Gives a file without a name that of `target`, which was `found` there, with its owner and permissions.
fn name(file: &File, target: &Path, found: Option<&Metadata>) -> io::Result<()> {
    let Some(found) = found else { return link(file, target) };
    take_after(file, found)?;
    let beside = beside(target)?;
    link(file, &beside)?;
    fs::rename(&beside, target).inspect_err(|_| {
        // It isn't anybody's.
        let _ = fs::remove_file(&beside);
    })
}

/// Gives a file without a name one that nothing has.
fn link(file: &File, name: &Path) -> io::Result<()> {
    let from = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let to = CString::new(name.as_os_str().as_bytes())?;
    // SAFETY: both are C strings.
    let linked =
        unsafe { libc::linkat(libc::AT_FDCWD, from.as_ptr(), libc::AT_FDCWD, to.as_ptr(), libc::AT_SYMLINK_FOLLOW) };
    if linked == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A name in the same folder that nobody else uses.
fn beside(target: &Path) -> io::Result<PathBuf> {
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.as_bytes();
    let mut other = OsString::from(".");
    other.push(std::ffi::OsStr::from_bytes(&name[..name.len().min(LONGEST_NAME)]));
    other.push(format!(".superpin-{}", std::process::id()));
    Ok(folder(target).join(other))
}

/// The descriptor that a path names.
fn descriptor(path: &Path) -> Option<RawFd> {
    match path.to_str()? {
        "/dev/stdout" => Some(libc::STDOUT_FILENO),
        "/dev/stderr" => Some(libc::STDERR_FILENO),
        path => {
            let number = path.strip_prefix("/dev/fd/").or_else(|| path.strip_prefix("/proc/self/fd/"))?;
            number.parse().ok().filter(|fd| *fd >= 0)
        }
    }
}

fn is_written_through(fd: RawFd) -> io::Result<()> {
    // SAFETY: a plain system call.
    match unsafe { libc::fcntl(fd, libc::F_GETFL) } {
        -1 => Err(io::Error::last_os_error()),
        flags if flags & libc::O_ACCMODE == libc::O_RDONLY => Err(io::Error::from_raw_os_error(libc::EBADF)),
        _ => Ok(()),
    }
}

fn may(path: &Path, mode: i32) -> io::Result<()> {
    let path = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: `path` is a C string.
    let result = unsafe { libc::faccessat(libc::AT_FDCWD, path.as_ptr(), mode, libc::AT_EACCESS) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Where a file would be made, if there is none.
fn end_of_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(to) => path = folder(&path).join(to),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::from_raw_os_error(libc::ELOOP))
}

fn write_file(path: &Path, text: &[u8]) -> io::Result<()> {
    let found = match path.metadata() {
        Ok(found) => Some(found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    // Another name of the file would keep the old contents.
    let beside = match found.as_ref().filter(|found| found.nlink() != 1 || !found.is_file()) {
        Some(_) => Err(io::ErrorKind::Unsupported.into()),
        None => end_of_links(path).and_then(|target| write_beside(&target, found.as_ref(), text)),
    };
    match beside {
        // Where there is no room the old contents would be lost for nothing.
        Err(error) if !is_full(&error) => write_in_place(path, text),
        done => done,
    }
}

fn is_full(error: &io::Error) -> bool {
    [libc::ENOSPC, libc::EDQUOT, libc::EFBIG].iter().any(|number| error.raw_os_error() == Some(*number))
}

/// Makes a new file and gives it the place of the old one, which was `found` there, with its owner and permissions.
fn write_beside(target: &Path, found: Option<&Metadata>, text: &[u8]) -> io::Result<()> {
    let other = beside(target)?;
    // A new file has the permissions that the umask leaves.
    let mode = if found.is_some() { 0o600 } else { 0o666 };
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&other)?;
    let written = file.write_all(text).and_then(|()| match found {
        Some(found) => take_after(&file, found),
        None => Ok(()),
    });
    written.and_then(|()| fs::rename(&other, target)).inspect_err(|_| {
        // It isn't anybody's.
        let _ = fs::remove_file(&other);
    })
}

fn take_after(file: &File, found: &Metadata) -> io::Result<()> {
    let new = file.metadata()?;
    if (new.uid(), new.gid()) != (found.uid(), found.gid()) {
        fchown(file, Some(found.uid()), Some(found.gid()))?;
    }
    file.set_permissions(fs::Permissions::from_mode(found.mode() & 0o7777))
}

fn write_in_place(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    file.write_all(text)?;
    file.set_len(text.len() as u64)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::symlink;

    use super::*;

    fn written(path: &Path, text: &str) -> io::Result<()> {
        Output::check(path)?;
        Output::open(path, 0)?.write(text.as_bytes())
    }

    fn names(folder: &Path) -> Vec<OsString> {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    }

    #[test]
    fn descriptors_are_told_from_files() {
        let of = |path: &str| descriptor(Path::new(path));
        assert_eq!([of("/dev/stdout"), of("/dev/fd/7"), of("/proc/self/fd/12")], [Some(1), Some(7), Some(12)]);
        assert_eq!([of("/dev/fd/x"), of("/dev/fd/-1"), of("stdout"), of("/dev/null")], [None; 4]);
        let number = |path: &str| Output::check(Path::new(path)).map_err(|error| error.raw_os_error());
        assert_eq!(number("/dev/fd/987654"), Err(Some(libc::EBADF)));
        let read = File::open("/dev/null").unwrap();
        let path = format!("/dev/fd/{}", read.as_raw_fd());
        assert_eq!(number(&path), Err(Some(libc::EBADF)));
    }

    #[test]
    fn a_file_keeps_its_links_permissions_and_other_names() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::write(at("file"), "a longer text of yesterday").unwrap();
        fs::set_permissions(at("file"), Permissions::from_mode(0o640)).unwrap();
        symlink("file", at("link")).unwrap();
        symlink("none", at("dangling")).unwrap();
        written(&at("link"), "new").unwrap();
        written(&at("dangling"), "made").unwrap();
        assert_eq!(fs::read(at("file")).unwrap(), b"new");
        assert_eq!(at("file").metadata().unwrap().mode() & 0o7777, 0o640);
        assert_eq!(fs::read(at("none")).unwrap(), b"made");
        assert!(at("link").symlink_metadata().unwrap().is_symlink());
        fs::hard_link(at("file"), at("other")).unwrap();
        written(&at("file"), "x").unwrap();
        assert_eq!(fs::read(at("other")).unwrap(), b"x");
        assert_eq!(names(scratch.path()), ["dangling", "file", "link", "none", "other"]);
        let long = "n".repeat(255);
        written(&at(&long), "long").unwrap();
        assert_eq!(fs::read(at(&long)).unwrap(), b"long");
    }

    #[test]
    fn what_cannot_be_written_is_told_before() {
        let scratch = tempfile::tempdir().unwrap();
        let number = |path: &Path| Output::check(path).unwrap_err().raw_os_error();
        assert_eq!(number(scratch.path()), Some(libc::EISDIR));
        assert_eq!(number(&scratch.path().join("none/file")), Some(libc::ENOENT));
        assert_eq!(number(Path::new("")), Some(libc::ENOENT));
        assert_eq!(number(Path::new("/etc/passwd/file")), Some(libc::ENOTDIR));
        let turning = scratch.path().join("turning");
        symlink("turning", &turning).unwrap();
        assert!(Output::check(&turning).is_err());
        assert_eq!(names(scratch.path()), ["turning"]);
    }

    #[test]
    fn a_part_becomes_the_file() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("file");
        for text in ["first", "2nd"] {
            let mut output = Output::open(&path, 0).unwrap();
            let mut part = output.part().unwrap();
            part.write_all(text.as_bytes()).unwrap();
            assert_eq!(names(scratch.path()).len(), usize::from(text != "first"), "it has no name yet");
            output.take(part).unwrap();
            assert_eq!(fs::read(&path).unwrap(), text.as_bytes());
            assert_eq!(names(scratch.path()), ["file"]);
            fs::set_permissions(&path, Permissions::from_mode(0o604)).unwrap();
        }
        assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o604);
        fs::hard_link(&path, scratch.path().join("other")).unwrap();
        let mut output = Output::open(&path, 0).unwrap();
        let mut part = output.part().unwrap();
        part.write_all(b"both").unwrap();
        output.take(part).unwrap();
        assert_eq!(fs::read(scratch.path().join("other")).unwrap(), b"both");
        let full = Output::open(Path::new("/dev/full"), 0).unwrap();
        let mut part = full.part().unwrap();
        part.write_all(b"x").unwrap();
        let mut full = full;
        assert_eq!(full.take(part).unwrap_err().raw_os_error(), Some(libc::ENOSPC));
    }

    #[test]
    fn devices_are_streams_for_all_processes() {
        let full = Path::new("/dev/full");
        Output::check(full).unwrap();
        let mut output = Output::open(full, 17).unwrap();
        assert!(matches!(output, Output::Stream(_)));
        assert_eq!(output.write(b"x").unwrap_err().raw_os_error(), Some(libc::ENOSPC));
        assert!(
            matches!(Output::open(Path::new("/tmp/x"), 17).unwrap(), Output::File(path) if path == Path::new("/tmp/x.17"))
        );
    }
}
