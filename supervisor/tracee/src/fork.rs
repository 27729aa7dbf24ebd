//! The copy of a stopped process that becomes a slice. It is to be a child of the tracer's, whoever the original's parent is.

use crate::TraceError;
use crate::process::{Running, Stopped};
use crate::remote::Remote;
use crate::state::UserRegisters;
use crate::stop::Stop;

/// Whose child a process under control is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent {
    /// The tracer's.
    Tracer,
    /// Another process's, whose ancestor the tracer is; and the tracer adopts orphans (`PR_SET_CHILD_SUBREAPER`).
    Other,
}

/// A copy is traced from its birth without any event of the original, even where the original's children are followed.
/// It shares the table of descriptors until it gives that up: a table of its own would hold the original's files, and a file
/// that the original closes would live on, in an epoll set or as the end of a pipe.
const COPY: i32 = libc::CLONE_PTRACE | libc::CLONE_UNTRACED | libc::CLONE_FILES;

/// A newborn copy under control that hasn't been waited for yet, so that the original can go on first.
pub struct Newborn {
    process: Running,
    registers: Box<UserRegisters>,
}

impl Newborn {
    /// Process id.
    pub fn pid(&self) -> i32 {
        self.process.pid()
    }

    /// Waits until it stands still. Its registers are then those of the original.
    ///
    /// # Errors
    /// If it was killed.
    pub fn settle(self) -> Result<Stopped, TraceError> {
        let pid = self.pid();
        match self.process.wait()? {
            (mut stopped, Stop::Interrupted) => {
                // It was born inside the remote call.
                stopped.set_registers(&self.registers)?;
                Ok(stopped)
            }
            (_, stop) => Err(TraceError::Unexpected { pid, action: "fork it", stop: stop.describe() }),
        }
    }
}

impl Stopped {
    /// Makes the process fork: the copy is a child of ours, under control, stopped before it executes anything, with all
    /// signals blocked. Nothing of the original changes.
    ///
    /// # Errors
    /// If the process was killed or can't fork (memory, limits).
    pub fn fork(&mut self, gate: u64, parent: Parent) -> Result<Newborn, TraceError> {
        let registers = Box::new(self.registers()?);
        let mut remote = Remote::new(self, gate)?;
        let process = match parent {
            // A sibling of the original.
            Parent::Tracer => start(&mut remote, COPY | libc::CLONE_PARENT | libc::SIGCHLD)?,
            Parent::Other => start_orphan(&mut remote, gate)?,
        };
        Ok(Newborn { process, registers })
    }
}

fn start(remote: &mut Remote<'_>, flags: i32) -> Result<Running, TraceError> {
    let child = remote.expect("fork it", libc::SYS_clone, [flags as u64, 0, 0, 0, 0, 0])?;
    Ok(Running::born_traced(child as i32))
}

/// A child of a child that has ended. The helper between the two shares the original's memory, which is copied once
/// only; it sends no signal when it ends, and is reaped before the original could notice that it had a child.
fn start_orphan(remote: &mut Remote<'_>, gate: u64) -> Result<Running, TraceError> {
    let helper = start(remote, COPY | libc::CLONE_VM)?;
    let pid = helper.pid();
    let orphan =
        helper.wait().and_then(|(mut helper, _)| start(&mut Remote::new(&mut helper, gate)?, COPY | libc::SIGCHLD));
    end(pid);
    let reaped = remote.call(libc::SYS_wait4, [pid as u64, 0, libc::__WALL as u64, 0, 0, 0]);
    if let (Ok(orphan), Err(_)) = (&orphan, &reaped) {
        end(orphan.pid());
    }
    reaped.and(orphan)
}

/// Kills a process under control and takes all reports on it, that on its end included.
fn end(pid: i32) {
    // SAFETY: no memory is involved: the status isn't asked for. The process hasn't been reaped.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        while libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL) == pid {}
    }
}
