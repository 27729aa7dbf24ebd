//! A line of our own on the terminal, behind whatever the app has written there last.
//!
//! ```text
//!   $ superpin -sp 1 -t mix -- ./app
//!   step 17 of 90                                   the app's
//!   superpin: 12 s, slice 13: 3 run, 9 merged       ours: the cursor stays before it, and before the app writes it is erased
//! ```
//!
//! Named invariant *nothing of the app's is lost*: the line is written to the right of the cursor, which doesn't move, and never beyond the terminal's edge; what erases it
//! erases what is to the right of the cursor. So it doesn't matter where in a line the app has stopped writing.

use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// It is there.
static SHOWN: AtomicBool = AtomicBool::new(false);

/// Whether it is there.
pub fn is_shown() -> bool {
    SHOWN.load(Ordering::Relaxed)
}

/// Whether it may be there now: standard error is a terminal, which is this process's, and shows lines as they are written (an editor's doesn't).
pub fn may_be_shown() -> bool {
    let fd = std::io::stderr().as_raw_fd();
    // SAFETY: the structure is plain data, for which zero is a value.
    let mut settings: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: a valid place for the settings; the others take no pointers.
    let (is_terminal, is_ours) =
        unsafe { (libc::tcgetattr(fd, &mut settings) == 0, libc::tcgetpgrp(fd) == libc::getpgrp()) };
    let lines = libc::ICANON | libc::ECHO;
    is_terminal && is_ours && settings.c_lflag & lines == lines
}

/// Writes it, in place of what is there of it.
pub fn show(text: &str) {
    /// Remembers the cursor; what is too long is cut off and not continued below.
    const BEGIN: &str = "\x1b7\x1b[?7l";
    /// The rest of what was there goes; all is as it was.
    const END: &str = "\x1b[K\x1b[?7h\x1b8";
    write(&format!("{BEGIN}{text}{END}"));
    SHOWN.store(true, Ordering::Relaxed);
}

/// Erases it, if it is there.
pub fn erase() {
    if SHOWN.swap(false, Ordering::Relaxed) {
        write("\x1b[K");
    }
}

/// In one piece: nobody's text comes between. Where the terminal takes nothing (Ctrl-S) it isn't waited for.
fn write(text: &str) {
    let mut stderr = std::io::stderr().lock();
    let mut poll = libc::pollfd { fd: stderr.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    // SAFETY: one valid structure is passed.
    if unsafe { libc::poll(&mut poll, 1, 0) } == 1 {
        let _ = stderr.write_all(text.as_bytes());
    }
}

/// Process `pid` is about to make this system call: if that may write to a terminal, the line isn't in its way.
pub fn gives_way(pid: i32, number: u64, args: &[u64; 6]) {
    if is_shown() && written_to(number, args).is_some_and(|fd| may_be_terminal(pid, fd)) {
        erase();
    }
}

/// The descriptor that the call writes to, or whose settings it changes.
fn written_to(number: u64, args: &[u64; 6]) -> Option<u64> {
    match number as i64 {
        libc::SYS_write | libc::SYS_writev | libc::SYS_pwrite64 | libc::SYS_pwritev | libc::SYS_pwritev2 => {
            Some(args[0])
        }
        libc::SYS_sendfile | libc::SYS_ioctl | libc::SYS_vmsplice => Some(args[0]),
        libc::SYS_splice => Some(args[2]),
        libc::SYS_tee => Some(args[1]),
        _ => None,
    }
}

/// Whether that isn't known to be something else.
fn may_be_terminal(pid: i32, fd: u64) -> bool {
    let elsewhere = |path: &Path| match path.strip_prefix("/dev") {
        Ok(device) => device == Path::new("null"),
        Err(_) => true,
    };
    !std::fs::read_link(format!("/proc/{pid}/fd/{}", fd as i32)).is_ok_and(|path| elsewhere(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_write_to_a_terminal_is_known() {
        let own = std::process::id() as i32;
        let file = std::fs::File::open("/proc/self/stat").unwrap();
        assert!(!may_be_terminal(own, file.as_raw_fd() as u64) && may_be_terminal(own, 12345));
        let null = std::fs::File::open("/dev/null").unwrap();
        assert!(!may_be_terminal(own, null.as_raw_fd() as u64));
        assert_eq!(written_to(libc::SYS_splice as u64, &[1, 2, 3, 4, 5, 6]), Some(3));
        assert_eq!(written_to(libc::SYS_read as u64, &[1, 2, 3, 4, 5, 6]), None);
    }
}
