//! Waits that end at the test's deadline: for a process, or for something to become so.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::Duration;

use super::guard::Guarded;
use super::limit::Wait;
use super::processes::{describe, family, kill};

/// Waits for a child; one that doesn't end by the test's deadline is killed with all its processes, and is an error that tells of them.
pub fn wait_for(child: &mut Child) -> io::Result<ExitStatus> {
    let mut wait = Wait::begin();
    if !ends(child.id(), &mut wait)? {
        let processes = end_all(child)?;
        return Err(io::Error::new(io::ErrorKind::TimedOut, wait.told(&format!("the end of\n{processes}"))));
    }
    child.wait()
}

/// The same with a limit of its own, after which there is no status.
pub fn wait_at_most(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    if ends(child.id(), &mut Wait::of(limit))? {
        return child.wait().map(Some);
    }
    end_all(child)?;
    Ok(None)
}

/// Waits for something to become so.
///
/// # Panics
///
/// At the test's deadline, with what it was.
pub fn wait_until(what: impl Fn() -> String, mut is_so: impl FnMut() -> bool) {
    let mut wait = Wait::begin();
    while !is_so() {
        assert!(!wait.is_over(), "{}", wait.told(&what()));
        thread::sleep(Duration::from_millis(2));
    }
}

/// Whether a child that isn't reaped yet ends before the wait is over.
fn ends(pid: u32, wait: &mut Wait) -> io::Result<bool> {
    let _guarded = Guarded::new(pid);
    // SAFETY: pidfd_open takes two integers and gives a new descriptor.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and has no other owner.
    let file = unsafe { File::from_raw_fd(fd as i32) };
    loop {
        let mut poll = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one pollfd is passed and it lives through the call.
        let ready = unsafe { libc::poll(&mut poll, 1, wait.step().as_millis() as i32) };
        match ready {
            1 => return Ok(true),
            0 if wait.is_over() => return Ok(false),
            0 => {}
            _ => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
}

/// Kills a child and what it has started, and tells what they were at.
fn end_all(child: &mut Child) -> io::Result<String> {
    let processes = family(child.id());
    let told = describe(&processes);
    kill(&processes);
    child.wait()?;
    Ok(told)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    #[test]
    fn what_does_not_end_is_killed_and_told() {
        let mut child =
            Command::new("/bin/sh").args(["-c", "sleep 1000 & sleep 1000"]).process_group(0).spawn().unwrap();
        let id = child.id();
        let mut wait = Wait::of(Duration::from_millis(200));
        wait_until(|| "two sleeps".to_owned(), || family(id).len() == 3);
        assert!(!ends(id, &mut wait).unwrap());
        let told = end_all(&mut child).unwrap();
        assert_eq!((told.matches("`sleep 1000 `").count(), told.matches("/sh -c").count()), (2, 1), "{told}");
        wait_until(|| "the ends".to_owned(), || !describe(&family(id)).contains("sleep"));
    }
}
