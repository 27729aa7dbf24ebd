//! What the kernel tells about children: the raw reports, unforgeable and each usable once.

use std::io;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// By exit_group with this status.
    Code(i32),
    /// Killed by this signal.
    Signal(i32),
}

impl ExitStatus {
    /// The status that a shell would give it.
    pub fn shell_status(self) -> i32 {
        match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        }
    }
}

impl std::fmt::Display for ExitStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit status {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// One change of state of one child, as waitpid(2) reported it.
#[derive(Debug)]
pub struct Report {
    pid: i32,
    status: i32,
}

impl Report {
    /// Whose it is.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// How the child ended, if that is what happened.
    pub fn exit(&self) -> Option<ExitStatus> {
        if libc::WIFEXITED(self.status) {
            Some(ExitStatus::Code(libc::WEXITSTATUS(self.status)))
        } else if libc::WIFSIGNALED(self.status) {
            Some(ExitStatus::Signal(libc::WTERMSIG(self.status)))
        } else {
            None
        }
    }

    /// By which signal a process has stopped that isn't under control (any more): the caller knows that of it.
    pub fn stopped_by(&self) -> Option<i32> {
        libc::WIFSTOPPED(self.status).then(|| libc::WSTOPSIG(self.status))
    }

    /// Whether this is the first report of a process that was born under control.
    pub fn is_new(&self) -> bool {
        libc::WIFSTOPPED(self.status) && self.status >> 16 == libc::PTRACE_EVENT_STOP
    }

    /// Whether a new program was loaded.
    pub fn is_exec(&self) -> bool {
        libc::WIFSTOPPED(self.status) && self.status >> 16 == libc::PTRACE_EVENT_EXEC
    }

    pub(crate) fn status(&self) -> i32 {
        self.status
    }
}

/// Takes the next report of any child without waiting for one. Children that aren't under control report that they have stopped. `None`: nothing is due.
///
/// # Errors
/// Only if the kernel refuses, which it doesn't; having no children at all counts as "nothing is due".
pub fn next_report() -> io::Result<Option<Report>> {
    wait(-1, libc::WNOHANG | libc::WUNTRACED)
}

/// Takes the next report on one process, if there is one, without waiting for it.
pub(crate) fn report_on(pid: i32) -> io::Result<Option<Report>> {
    wait(pid, libc::WNOHANG)
}

/// Whether any process under control has had several threads.
static HAVE_THREADS: AtomicBool = AtomicBool::new(false);

/// From now on a process under control may have several threads that are, too.
pub fn threads_are_traced() {
    HAVE_THREADS.store(true, Relaxed);
}

/// Waits for the next stop of `pid`. If it ends instead, that is ESRCH, and the report on it stays for [`next_report`].
///
/// The end of a process's first thread isn't reported before the reports on all others are taken: if all end together it has to be seen otherwise.
pub(crate) fn wait_for_stop(pid: i32) -> io::Result<Report> {
    loop {
        // SAFETY: the structure is plain data, for which zero is a value.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let at_once = if HAVE_THREADS.load(Relaxed) { libc::WNOHANG } else { 0 };
        let options = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL | at_once;
        // SAFETY: `info` is a valid place for the result.
        if unsafe { libc::waitid(libc::P_PID, pid as u32, &mut info, options) } != 0 {
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => continue,
                Some(libc::ECHILD) => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
                _ => return Err(error),
            }
        }
        // SAFETY: waitid fills in the process, or leaves it zero if there is nothing to report.
        if at_once != 0 && unsafe { info.si_pid() } == 0 {
            if !some_child_reports() && has_ended(pid) {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            continue;
        }
        if matches!(info.si_code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED) {
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        if let Some(report) = wait(pid, libc::WNOHANG)? {
            return Ok(report);
        }
    }
}

/// Waits for a while until there is a report on some child. Its signal is taken if it is blocked: whoever waits for that looks for reports before.
fn some_child_reports() -> bool {
    let most = libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 };
    let set = 1_u64 << (libc::SIGCHLD - 1);
    let nothing = std::ptr::null::<libc::siginfo_t>();
    // SAFETY: set and time are valid, the description isn't asked for.
    unsafe { libc::syscall(libc::SYS_rt_sigtimedwait, &raw const set, nothing, &raw const most, size_of::<u64>()) > 0 }
}

/// Whether a thread has ended, though nobody is told of it yet.
fn has_ended(tid: i32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{tid}/stat")) else { return true };
    let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
    matches!(state, Some('Z' | 'X'))
}

fn wait(pid: i32, options: i32) -> io::Result<Option<Report>> {
    loop {
        let mut status = 0;
        // SAFETY: `status` is a valid place for the result.
        let got = unsafe { libc::waitpid(pid, &mut status, options | libc::__WALL) };
        if got > 0 {
            return Ok(Some(Report { pid: got, status }));
        }
        if got == 0 {
            return Ok(None);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => {}
            Some(libc::ECHILD) => return Ok(None),
            _ => return Err(error),
        }
    }
}
