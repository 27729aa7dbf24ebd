//! A program started under control.

use std::ffi::CString;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::TraceError;
use crate::stop::Stop;
use crate::stop::{Follows, Mode, Running, Stopped};

/// What to start.
pub struct Program {
    /// Path of the file; not searched for.
    pub path: CString,
    /// Arguments from argv\[0\] on.
    pub args: Vec<CString>,
    /// Environment.
    pub environment: Vec<CString>,
    /// Whether the kernel may place things at random addresses.
    pub randomise: bool,
    /// What it starts that is to be under control as well.
    pub new_processes: Follows,
    /// The signal mask to start with.
    pub signal_mask: u64,
    /// Signals that it is to ignore, and this process doesn't.
    pub ignored: Vec<i32>,
    /// Limits to start with, where they aren't the tracer's own.
    pub limits: Vec<(libc::__rlimit_resource_t, libc::rlimit)>,
    /// Descriptors that are closed when a program is executed, but not for this one.
    pub inherited: Vec<i32>,
}

/// Why a program could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// No process.
    #[error("cannot create a process: {0}")]
    Fork(io::Error),
    /// Not allowed to trace.
    #[error(
        "no permission to trace processes here ({0}); ptrace(2) must be allowed, for instance `--cap-add=SYS_PTRACE` in a container"
    )]
    Trace(TraceError),
    /// exec failed.
    #[error("cannot execute it: {0}")]
    Exec(io::Error),
    /// The process was killed before it started.
    #[error("the process ended before its program was loaded: {0}")]
    Lost(TraceError),
}

/// Starts a program under control and stops it before its first instruction.
///
/// # Errors
/// See [`LaunchError`].
pub fn launch(program: &Program) -> Result<Stopped, LaunchError> {
    let (go_read, go_write) = pipe().map_err(LaunchError::Fork)?;
    let (error_read, error_write) = pipe().map_err(LaunchError::Fork)?;
    let argv = pointers(&program.args);
    let envp = pointers(&program.environment);
    // SAFETY: the child only makes system calls on data that was prepared before.
    let pid = unsafe { libc::fork() };
    if pid < 0 {
        return Err(LaunchError::Fork(io::Error::last_os_error()));
    }
    if pid == 0 {
        // SAFETY: this is the child of a fork; everything it uses was made before.
        unsafe { become_program(program, &argv, &envp, (&go_read, &go_write), &error_write) }
    }
    drop((go_read, error_write));
    let running = match Running::seize(pid, program.new_processes) {
        Ok(running) => running,
        Err(error) => {
            // SAFETY: `pid` is our child, which waits for its pipe and hasn't been reaped.
            unsafe {
                libc::kill(pid, libc::SIGKILL);
                libc::waitpid(pid, std::ptr::null_mut(), 0);
            }
            return Err(LaunchError::Trace(error));
        }
    };
    drop(go_write);
    await_exec(running, error_read)
}

fn await_exec(mut running: Running, error: OwnedFd) -> Result<Stopped, LaunchError> {
    loop {
        let pid = running.pid();
        let (stopped, stop) = match running.wait() {
            Ok(stop) => stop,
            Err(lost) => return Err(explain_end(pid, error, lost)),
        };
        match stop {
            Stop::Exec => return stopped.finish_exec().map_err(LaunchError::Lost),
            Stop::Signal(info) => running = stopped.resume(Mode::Free, info.si_signo).map_err(LaunchError::Lost)?,
            Stop::Group(_) => running = stopped.stay_stopped().map_err(LaunchError::Lost)?,
            _ => running = stopped.resume(Mode::Free, 0).map_err(LaunchError::Lost)?,
        }
    }
}

/// The child ended without a new program: it has left the reason in the pipe, or it was killed.
fn explain_end(pid: i32, error: OwnedFd, lost: TraceError) -> LaunchError {
    let mut number = [0; 4];
    let told = std::fs::File::from(error).read_exact(&mut number);
    // SAFETY: `pid` is our child and hasn't been reaped: its end was only looked at.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL) };
    match told {
        Ok(()) => LaunchError::Exec(io::Error::from_raw_os_error(i32::from_ne_bytes(number))),
        Err(_) => LaunchError::Lost(lost),
    }
}

/// # Safety
/// Only in the child of a fork. Uses nothing but system calls.
unsafe fn become_program(
    program: &Program,
    argv: &[*const libc::c_char],
    envp: &[*const libc::c_char],
    go: (&OwnedFd, &OwnedFd),
    error: &OwnedFd,
) -> ! {
    // SAFETY: plain system calls; the pointer arrays end with null and outlive the call.
    unsafe {
        // The parent seizes this process and closes its end of the pipe. The own copy of that end has to go first.
        let mut byte = 0_u8;
        libc::close(go.1.as_raw_fd());
        libc::read(go.0.as_raw_fd(), (&raw mut byte).cast(), 1);
        if !program.randomise {
            let current = libc::personality(0xffff_ffff);
            libc::personality((current | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong);
        }
        for (resource, limit) in &program.limits {
            libc::setrlimit(*resource, limit);
        }
        for fd in &program.inherited {
            libc::fcntl(*fd, libc::F_SETFD, 0);
        }
        for signal in &program.ignored {
            libc::signal(*signal, libc::SIG_IGN);
        }
        // Not by libc's function, which leaves out two signals that libc uses itself.
        let mask = &raw const program.signal_mask;
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, mask, std::ptr::null_mut::<u64>(), size_of::<u64>());
        libc::execve(program.path.as_ptr(), argv.as_ptr(), envp.as_ptr());
        let number = *libc::__errno_location();
        libc::write(error.as_raw_fd(), (&raw const number).cast(), size_of::<i32>());
        libc::_exit(127);
    }
}

fn pointers(strings: &[CString]) -> Vec<*const libc::c_char> {
    strings.iter().map(|s| s.as_ptr()).chain([std::ptr::null()]).collect()
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: `ends` is a place for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: both are new descriptors that nobody else owns.
    unsafe { Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))) }
}
