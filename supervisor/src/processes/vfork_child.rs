//! Processes in their parents' memory: they are followed from their exec on.

use machine::Status;
use syscall_replay::table::{self, Class, Special};
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
    /// The parent's, in whose name it stores.
    company: Company,
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
    /// Lets it go on. `company`: those with which its parent has memory in common.
    ///
    /// # Errors
    /// If it was killed.
    pub fn start(process: Stopped, company: Company) -> Result<Self, TraceError> {
        Ok(Self { running: process.resume(mode(&company), 0)?, company })
    }

    /// Looks at a stop.
    ///
    /// # Errors
    /// If it has ended.
    pub fn observe(self, report: Report) -> Result<VforkStop, Failure> {
        let Self { running, company } = self;
        let pid = running.pid();
        let Change::Stopped(stopped, stop) = running.observe(report)? else {
            return Err(TraceError::Gone { pid, action: "wait for it" }.into());
        };
        let running = match stop {
            Stop::Exec => {
                company.hands_on();
                return Ok(VforkStop::Program(stopped.finish_exec()?));
            }
            Stop::Started { child, waits } => {
                // It may have a copy of what is shared.
                company.breaks();
                let kind = match waits {
                    true => ProcessKind::VforkChild(Company::default()),
                    false => ProcessKind::Copy(Box::new(inherited(&stopped)?)),
                };
                let vfork_child = Self::start(stopped, company)?;
                return Ok(VforkStop::Parent(vfork_child, NewProcess { child, kind }));
            }
            Stop::Signal(info) => stopped.resume(mode(&company), info.si_signo)?,
            Stop::Group(_) => stopped.stay_stopped()?,
            Stop::SyscallEntry { number, args } if !leaves_memory(&stopped, number, &args) => {
                company.breaks();
                stopped.resume(mode(&company), 0)?
            }
            Stop::ForeignSyscall => {
                company.breaks();
                stopped.resume(mode(&company), 0)?
            }
            _ => stopped.resume(mode(&company), 0)?,
        };
        Ok(VforkStop::Still(Self { running, company }))
    }
}

/// Its calls matter as long as somebody relies on what is known of its parent's memory.
fn mode(company: &Company) -> Mode {
    if company.is_whole() { Mode::Syscalls } else { Mode::Free }
}

/// Whether a call neither changes what is mapped nor stores otherwise than by the page tables of the process that makes it.
fn leaves_memory(process: &Stopped, number: u64, args: &[u64; 6]) -> bool {
    let class = table::lookup(number, args, process).class;
    let is_known =
        matches!(class, Class::Replay | Class::Special(Special::Exec | Special::Exit | Special::StartProcess));
    const OTHERS: [i64; 3] = [libc::SYS_process_vm_writev, libc::SYS_sendmsg, libc::SYS_sendmmsg];
    is_known && !table::writes_elsewhere(number, args) && !OTHERS.contains(&(number as i64))
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
