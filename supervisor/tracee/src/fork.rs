//! The copy of a stopped process that becomes a slice. It is to be a child of the tracer's, whoever the original's parent is.

use crate::TraceError;
use crate::remote::Remote;
use crate::state::UserRegisters;
use crate::stop::Stop;
use crate::stop::{Running, Stopped};

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

impl Stopped {
    /// Makes the process fork: the copy is a child of ours, under control, stopped before it executes anything, with all
    /// signals blocked. It has no files. Nothing of the original changes. Also told is who the kernel has seen fork: the original, or one in its place.
    ///
    /// # Errors
    /// If the process was killed or can't fork (memory, limits).
    pub fn fork(&mut self, gadget: u64, parent: Parent) -> Result<(Self, i32), TraceError> {
        let (original, registers) = (self.pid(), self.registers()?);
        let mut remote = Remote::new(self, gadget)?;
        let (copy, forker) = match parent {
            // A sibling of the original.
            Parent::Tracer => (start(&mut remote, COPY | libc::CLONE_PARENT | libc::SIGCHLD)?, original),
            Parent::Other => start_orphan(&mut remote, gadget)?,
        };
        let pid = copy.pid();
        let copy = stand_alone(copy, gadget, &registers).inspect_err(|_| end(pid))?;
        Ok((copy, forker))
    }
}

/// Waits until a copy stands still, with the registers of the original, and has it give up the original's files.
fn stand_alone(copy: Running, gadget: u64, registers: &UserRegisters) -> Result<Stopped, TraceError> {
    let pid = copy.pid();
    let (mut copy, stop) = copy.wait()?;
    if !matches!(stop, Stop::Interrupted) {
        return Err(TraceError::Unexpected { pid, action: "fork it", stop: stop.describe() });
    }
    // It was born inside the remote call.
    copy.set_registers(registers)?;
    // To unshare the table the kernel copies it and then closes what is in the copy: for some microseconds, or as long as the
    // copy has no processor, that holds the original's files. So the original must stand still until it is done.
    let all = [0, u64::from(u32::MAX), u64::from(libc::CLOSE_RANGE_UNSHARE), 0, 0, 0];
    Remote::new(&mut copy, gadget)?.expect("give up the original's files", libc::SYS_close_range, all)?;
    Ok(copy)
}

fn start(remote: &mut Remote<'_>, flags: i32) -> Result<Running, TraceError> {
    let child = remote.expect("fork it", libc::SYS_clone, [flags as u64, 0, 0, 0, 0, 0])?;
    Ok(Running::born_traced(child as i32))
}

/// A child of a child that has ended. The helper between the two shares the original's memory, which is copied once
/// only; it sends no signal when it ends, and is reaped before the original could notice that it had a child.
fn start_orphan(remote: &mut Remote<'_>, gadget: u64) -> Result<(Running, i32), TraceError> {
    let helper = start(remote, COPY | libc::CLONE_VM)?;
    let pid = helper.pid();
    let orphan =
        helper.wait().and_then(|(mut helper, _)| start(&mut Remote::new(&mut helper, gadget)?, COPY | libc::SIGCHLD));
    end(pid);
    let reaped = remote.call(libc::SYS_wait4, [pid as u64, 0, libc::__WALL as u64, 0, 0, 0]);
    if let (Ok(orphan), Err(_)) = (&orphan, &reaped) {
        end(orphan.pid());
    }
    Ok((reaped.and(orphan)?, pid))
}

/// Kills a process under control and takes all reports on it, that on its end included.
fn end(pid: i32) {
    // SAFETY: no memory is involved: the status isn't asked for. The process hasn't been reaped.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        while libc::waitpid(pid, std::ptr::null_mut(), libc::__WALL) == pid {}
    }
}
