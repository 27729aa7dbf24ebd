//! Processes in their parents' memory: they are followed from their exec on.

use machine::Status;
use tracee::{Change, Mode, Report, Running, Stop, Stopped, TraceError};

use crate::app::{Company, Kept, MutableFiles, OwnLimits, name_of};
use crate::base::Failure;
use crate::follow::{InheritedState, NewProcess, ProcessKind};

/// Whether a process has another number to itself than to us.
pub fn has_other_numbers(pid: i32) -> bool {
    let numbers = |pid: &str| {
        let status = Status::of(pid).ok();
        status.and_then(|status| Some(status.field("NSpid")?.split_ascii_whitespace().count())).unwrap_or(0)
    };
    numbers(&pid.to_string()) != numbers("self")
}

/// A process in its parent's memory, until it executes a program.
pub struct VforkChild {
    running: Running,
}

/// What has become of a vfork child.
pub enum VforkStop {
    /// It goes on as before.
    Still(VforkChild),
    /// It has started another process.
    Parent(VforkChild, NewProcess),
    /// It has a program of its own, before its first instruction.
    Program(Stopped),
}

impl VforkChild {
    /// Lets it go on.
    ///
    /// # Errors
    /// If it was killed.
    pub fn start(process: Stopped) -> Result<Self, TraceError> {
        Ok(Self { running: process.resume(Mode::Free, 0)? })
    }

    /// Looks at a stop.
    ///
    /// # Errors
    /// If it has ended.
    pub fn observe(self, report: Report) -> Result<VforkStop, Failure> {
        let pid = self.running.pid();
        let Change::Stopped(stopped, stop) = self.running.observe(report)? else {
            return Err(TraceError::Gone { pid, action: "wait for it" }.into());
        };
        let running = match stop {
            Stop::Exec => return Ok(VforkStop::Program(stopped.finish_exec()?)),
            Stop::Started { child, waits } => {
                let kind =
                    if waits { ProcessKind::VforkChild } else { ProcessKind::Copy(Box::new(inherited(&stopped)?)) };
                let vfork_child = Self::start(stopped)?;
                return Ok(VforkStop::Parent(vfork_child, NewProcess { child, kind }));
            }
            Stop::Signal(info) => stopped.resume(Mode::Free, info.si_signo)?,
            Stop::Group(_) => stopped.stay_stopped()?,
            _ => stopped.resume(Mode::Free, 0)?,
        };
        Ok(VforkStop::Still(Self { running }))
    }
}

/// Of a copy of a vfork child's memory: it is in no tool image's code.
fn inherited(process: &Stopped) -> Result<InheritedState, Failure> {
    let gadget = crate::app::gadget_of(process)?;
    let name = name_of(process.pid());
    Ok(InheritedState {
        gadget,
        shares_memory: true,
        company: Company::default(),
        mutable_files: MutableFiles::default(),
        kept: Kept::new(),
        limits: OwnLimits::default(),
        file_pages: Vec::new(),
        at: None,
        name,
    })
}
