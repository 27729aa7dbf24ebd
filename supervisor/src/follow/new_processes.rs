//! Processes that a followed process starts, and what they inherit.

use tracee::{Mode, Running, Stop, Stopped, TraceError};

use crate::app::{Company, Kept, MutableFiles, OwnLimits, Prepared, Setting};

/// A process that a followed one has started. It is under control and hasn't executed anything yet.
pub struct NewProcess {
    /// It.
    pub child: Running,
    /// What becomes of it.
    pub kind: ProcessKind,
}

/// What becomes of a new process.
pub enum ProcessKind {
    /// It has a copy of its parent's memory and is followed.
    Copy(Box<InheritedState>),
    /// It uses its parent's memory, and its parent waits (vfork): it is followed from its exec on. Until then what it stores is the parent's, who has this company.
    VforkChild(Company),
    /// It is no process, but a thread of a followed one.
    Thread,
    /// It is a slice's.
    Slice,
    /// Nobody follows its parent: nor is it.
    Unfollowed,
}

/// What is known of a copy from its parent.
pub struct InheritedState {
    /// A `syscall` instruction for remote calls.
    pub gadget: u64,
    /// Whether it may have shared mappings.
    pub shares_memory: bool,
    /// Those with which it has memory in common.
    pub company: Company,
    /// Files whose mappings change when they are written.
    pub mutable_files: MutableFiles,
    /// Files that it has mapped and that must not change.
    pub kept: Kept,
    /// Resource limits that it has set for itself.
    pub limits: OwnLimits,
    /// Pages of files that hold bytes of the parent's in-process recorder.
    pub file_pages: Vec<u64>,
    /// Where the app's code goes on, if the new process stands in a tool image's code.
    pub at: Option<u64>,
    /// What its parent executes.
    pub name: String,
}

/// With what a follower starts.
pub enum Origin {
    /// A program before its first instruction.
    Image,
    /// A copy of a process, at an instruction of the app's.
    Copy(Box<InheritedState>),
    /// A process that was running by itself. It stands where it was stopped.
    Running {
        /// By a stopping signal.
        is_stopped: bool,
        /// Its other threads.
        others: Vec<Stopped>,
    },
}

impl InheritedState {
    /// Asks for what changes with each system call.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn prepared(&self, process: &mut Stopped) -> Result<Prepared, TraceError> {
        Prepared::of(process, self.gadget)
    }
}

/// Lets a process that stands in a tool image's code go on to where the app's code does. Its last call there sets the app's mask. `gadget`: a `syscall`
/// instruction.
///
/// # Errors
/// If it was killed.
pub fn run_to(mut process: Stopped, address: u64, gadget: u64) -> Result<Stopped, TraceError> {
    process.set_breakpoint(0, address)?;
    let (mut early, mut setting) = (Vec::new(), None);
    loop {
        let (stopped, stop) = process.resume_and_wait(Mode::Syscalls, 0)?;
        process = stopped;
        match stop {
            Stop::SyscallExit { .. } if process.registers()?.syscall_number() == libc::SYS_rt_sigprocmask => {
                setting = Some(Setting::of(&mut process, gadget, libc::SIGTRAP)?);
            }
            Stop::Signal(info) if process.hits_breakpoint(&info)? => break,
            // The app's code has to see it first.
            Stop::Signal(info) => early.push(info.si_signo),
            _ => {}
        }
    }
    process.clear_breakpoint(0)?;
    if let Some(setting) = setting {
        setting.put_back(&mut process, gadget)?;
    }
    for signal in early {
        // SAFETY: kill has no memory preconditions; the process hasn't been reaped.
        unsafe { libc::kill(process.pid(), signal) };
    }
    Ok(process)
}
