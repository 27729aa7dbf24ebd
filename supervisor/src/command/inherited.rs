//! The descriptors that this process was started with. They are the app's: what reads the other end of its output, or writes the
//! other end of its input, must see it close them, although this process lives on.
//!
//! Standard error is shared with the app, and so are files that an option names by descriptor (`-o /dev/fd/3`).

use std::ffi::OsString;
use std::fs::{File, read_dir};
use std::io;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::os::unix::ffi::OsStrExt;

use super::settings::{ReportTarget, Settings};
use crate::base::{Doing, Failure};

/// Number of the standard descriptors.
const STANDARD: i32 = 3;

/// The app's descriptors, as long as this process has them too.
pub struct Inherited {
    /// All that were open and that no option names.
    all: Vec<i32>,
}

impl Inherited {
    /// Finds them. Nothing else may have been opened before. From now on programs that are started inherit only the standard ones; those that
    /// were closed lead to `/dev/null` here, lest a file of ours gets their number, and are closed in programs.
    ///
    /// # Errors
    /// If there is no /proc or no /dev/null.
    pub fn take(settings: &Settings) -> Result<Self, Failure> {
        if !is_open(libc::STDERR_FILENO) && !names_file(&settings.tool_options()) {
            return Err(Failure::Unsupported(
                "standard error is closed, and no file is named for the result (-o FILE)".into(),
            ));
        }
        occupy_standard().doing("open /dev/null")?;
        let report = match &settings.report {
            Some(ReportTarget::File(path)) => Some(path.clone().into_os_string()),
            Some(ReportTarget::Stderr) | None => None,
        };
        let timeline = settings.timeline.clone().map(Into::into);
        let options: Vec<OsString> = settings.tool_options().into_iter().chain(report).chain(timeline).collect();
        let entries = read_dir("/proc/self/fd").doing("look for open files")?;
        let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let all: Vec<i32> = numbers.filter(|fd| is_inherited(*fd) && !is_named(*fd, &options)).collect();
        all.iter().filter(|fd| **fd >= STANDARD).for_each(|fd| set_flags(*fd, libc::FD_CLOEXEC));
        Ok(Self { all })
    }

    /// Those that a program doesn't inherit unless it is made to.
    pub fn not_standard(&self) -> Vec<i32> {
        self.all.iter().copied().filter(|fd| *fd >= STANDARD).collect()
    }

    /// Leaves them to the app, which has been started.
    ///
    /// # Errors
    /// If there is no /dev/null.
    pub fn give_up(self) -> Result<(), Failure> {
        let nothing = null().doing("open /dev/null")?;
        for fd in self.all {
            // SAFETY: plain system calls. The descriptors came with this process's start, and nobody here owns them.
            unsafe {
                match fd {
                    libc::STDERR_FILENO => 0,
                    0..STANDARD => libc::dup2(nothing.as_raw_fd(), fd),
                    _ => libc::close(fd),
                }
            };
        }
        Ok(())
    }
}

fn null() -> io::Result<File> {
    File::options().read(true).write(true).open("/dev/null")
}

fn occupy_standard() -> io::Result<()> {
    loop {
        let file = null()?;
        if file.as_raw_fd() >= STANDARD {
            return Ok(());
        }
        // It stays open.
        let _ = file.into_raw_fd();
    }
}

fn is_open(fd: i32) -> bool {
    // SAFETY: a plain system call.
    unsafe { libc::fcntl(fd, libc::F_GETFD) != -1 }
}

/// Whether the tool's options say where the result goes.
fn names_file(options: &[OsString]) -> bool {
    options.iter().any(|option| {
        let name = option.as_bytes();
        name == b"-o" || name.starts_with(b"-o=") || name.starts_with(b"--o")
    })
}

/// What this process has opened itself is closed when a program is executed.
fn is_inherited(fd: i32) -> bool {
    // SAFETY: a plain system call.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFD) };
    flags != -1 && flags & libc::FD_CLOEXEC == 0
}

fn set_flags(fd: i32, flags: i32) {
    // SAFETY: a plain system call on an open descriptor that is no owner's.
    unsafe { libc::fcntl(fd, libc::F_SETFD, flags) };
}

/// Whether an option names the file by its descriptor: `/dev/fd/3`, `/proc/self/fd/3`, `/dev/stdout`.
fn is_named(fd: i32, options: &[OsString]) -> bool {
    let standard = ["/dev/stdin", "/dev/stdout"].get(fd as usize);
    let number = format!("/fd/{fd}");
    let names = |option: &OsString| {
        let option = option.as_bytes();
        option.ends_with(number.as_bytes()) || standard.is_some_and(|name| option.ends_with(name.as_bytes()))
    };
    options.iter().any(names)
}

/// Whether an option names the standard output.
pub fn names_stdout(options: &[OsString]) -> bool {
    is_named(libc::STDOUT_FILENO, options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_descriptor_is_named_by_its_path() {
        let options = ["-o", "/dev/fd/13", "-report=/dev/stdout"].map(OsString::from);
        assert!(is_named(13, &options) && is_named(1, &options));
        assert!(!is_named(3, &options) && !is_named(1, &options[..2]) && !is_named(0, &options));
    }

    #[test]
    fn what_is_opened_here_is_not_inherited() {
        let file = null().unwrap();
        assert!(!is_inherited(file.as_raw_fd()));
        set_flags(file.as_raw_fd(), 0);
        assert!(is_inherited(file.as_raw_fd()));
    }
}
