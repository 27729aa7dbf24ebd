//! A running process that comes under control, and what the kernel knows of its threads beside their registers.

use std::io;
use std::time::Duration;

use crate::TraceError;
use crate::kernel::report_on;
use crate::kernel::request;
use crate::stop::{Change, Follows, GENTLE, Mode, Running, Stop, Stopped};

/// How often it is looked whether a process has stopped.
const LOOK: Duration = Duration::from_millis(1);
/// Not in libc.
const PTRACE_GET_RSEQ_CONFIGURATION: libc::c_uint = 0x420f;

/// A process that was running by itself, and stands still.
pub struct Attached {
    /// It. It lives on if its tracer dies.
    pub process: Stopped,
    /// Whether it was stopped by a stopping signal before.
    pub is_stopped: bool,
}

/// Why a process can't be attached to.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The kernel doesn't allow it.
    #[error("{0}")]
    NotAllowed(io::Error),
    /// It is in the kernel and doesn't come out.
    #[error("it waits in the kernel for something that can't be interrupted")]
    IsStuck,
    /// It has ended, or the like.
    #[error(transparent)]
    Trace(#[from] TraceError),
}

/// The area by which a thread and the kernel tell each other of restartable sequences.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rseq {
    /// Where it is.
    pub address: u64,
    /// Its size.
    pub size: u32,
    /// What stands before each sequence's abort handler.
    pub signature: u32,
    flags: u32,
    reserved: u32,
}

/// Takes a running process under control and stops it, within that time. Nothing of it changes: a call that it waits in is made again when it goes on.
///
/// # Errors
/// See [`AttachError`]. The process goes on as before.
pub fn attach(pid: i32, patience: Duration) -> Result<Attached, AttachError> {
    // SAFETY: `data` is a set of options.
    if let Err(error) = unsafe { request(libc::PTRACE_SEIZE, pid, 0, GENTLE as usize, "trace it") } {
        return Err(match error {
            TraceError::Refused { source, .. } => AttachError::NotAllowed(source),
            error => error.into(),
        });
    }
    let mut running = Running::new(pid);
    let mut looks = patience.as_millis() / LOOK.as_millis();
    loop {
        running.interrupt()?;
        let report = loop {
            let report = report_on(pid).map_err(|source| TraceError::from_io(pid, "wait for it", source))?;
            match report {
                Some(report) => break report,
                None if looks == 0 => return Err(AttachError::IsStuck),
                None => {
                    looks -= 1;
                    std::thread::sleep(LOOK);
                }
            }
        };
        let (process, stop) = match running.observe(report)? {
            Change::Stopped(process, stop) => (process, stop),
            Change::Ended(_) => return Err(TraceError::Gone { pid, action: "wait for it" }.into()),
        };
        running = match stop {
            Stop::Interrupted => return Ok(Attached { process, is_stopped: false }),
            Stop::Group(_) => return Ok(Attached { process, is_stopped: true }),
            Stop::Signal(info) => process.resume(Mode::Free, info.si_signo)?,
            _ => process.resume(Mode::Free, 0)?,
        };
    }
}

/// Takes the other threads of a process, whose first one stands still, under control and stops them, each within that time.
///
/// # Errors
/// See [`AttachError`]. Those that were stopped go on.
pub fn attach_others(pid: i32, patience: Duration) -> Result<Vec<Stopped>, AttachError> {
    let mut others: Vec<Stopped> = Vec::new();
    loop {
        // Those that still run may start others.
        let mut found = Vec::new();
        for entry in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let tid = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok());
            found.extend(tid.filter(|tid| *tid != pid && others.iter().all(|other| other.pid() != *tid)));
        }
        if found.is_empty() {
            others.sort_by_key(Stopped::pid);
            return Ok(others);
        }
        for tid in found {
            match attach(tid, patience) {
                Ok(attached) => others.push(attached.process),
                Err(AttachError::Trace(error)) if error.is_gone() => {}
                Err(error) => {
                    // Who is gone needs nothing.
                    others.into_iter().for_each(|other| drop(other.detach(0)));
                    return Err(error);
                }
            }
        }
    }
}

impl Stopped {
    /// Has what it starts be under control as well. `dies`: whether it dies with its tracer.
    ///
    /// # Errors
    /// If it was killed.
    pub fn follow(&mut self, new_processes: Follows, dies: bool) -> Result<(), TraceError> {
        let options = GENTLE | new_processes.options() | if dies { libc::PTRACE_O_EXITKILL } else { 0 };
        // SAFETY: `data` is a set of options.
        unsafe { request(libc::PTRACE_SETOPTIONS, self.pid(), 0, options as usize, "set how it is traced")? };
        Ok(())
    }

    /// Its area for restartable sequences, if it has one. Kernels before 5.13 don't tell.
    pub fn rseq(&self) -> Option<Rseq> {
        let mut rseq = Rseq::default();
        let data = &raw mut rseq as usize;
        // SAFETY: `data` points to a structure of the type and size that this request fills.
        let told = unsafe {
            request(PTRACE_GET_RSEQ_CONFIGURATION, self.pid(), size_of::<Rseq>(), data, "look at its rseq area")
        };
        told.ok().and(Some(rseq)).filter(|rseq| rseq.address != 0)
    }

    /// The list of locks that the kernel unlocks when the thread ends, and the size of its head.
    pub fn robust_list(&self) -> Option<[u64; 2]> {
        let mut list = [0_u64; 2];
        let (head, len) = (&raw mut list[0], &raw mut list[1]);
        // SAFETY: valid places for both.
        let result = unsafe { libc::syscall(libc::SYS_get_robust_list, self.pid(), head, len) };
        (result == 0).then_some(list)
    }
}
