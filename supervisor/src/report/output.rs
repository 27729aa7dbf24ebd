//! Files that results and reports go to.
//!
//! Whether a file can be written is looked at before the app starts, without any effect: the app must not meet a file that it
//! wouldn't meet natively. It is written when all that belongs into it is known, beside its place, and renamed: what was there
//! before stays until then, and if the run fails.

use std::ffi::{CString, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{BorrowedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

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
        if path.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir()) {
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
    let name = target.file_name().ok_or(io::ErrorKind::InvalidInput)?.as_bytes();
    let mut other = OsString::from(".");
    other.push(std::ffi::OsStr::from_bytes(&name[..name.len().min(LONGEST_NAME)]));
    other.push(format!(".superpin-{}", std::process::id()));
    let other = folder(target).join(other);
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
        let path = format!("/dev/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&read));
        assert_eq!(number(&path), Err(Some(libc::EBADF)));
    }

    #[test]
    fn a_file_keeps_its_links_permissions_and_other_names() {
        let scratch = tempfile::tempdir().unwrap();
        let at = |name: &str| scratch.path().join(name);
        fs::write(at("file"), "a longer text of yesterday").unwrap();
        fs::set_permissions(at("file"), fs::Permissions::from_mode(0o640)).unwrap();
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
