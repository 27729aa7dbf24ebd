//! Processes under control, and why one stands still.

use std::cell::OnceCell;
use std::marker::PhantomData;

use crate::kernel::{ExitStatus, Report};

/// What every process under control is traced with: it dies with its tracer, exec and system calls are told apart
/// from signals.
pub(crate) const OPTIONS: i32 = libc::PTRACE_O_EXITKILL | GENTLE;
/// The same for one that lives on if its tracer dies.
pub(crate) const GENTLE: i32 = libc::PTRACE_O_TRACEEXEC | libc::PTRACE_O_TRACESYSGOOD;

/// What is under control besides a process, from its birth and with the same options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follows {
    /// Nothing.
    None,
    /// Its threads: so they die with their tracer even if the process's first thread has ended. And processes that are made as threads are,
    /// whose end isn't told by SIGCHLD.
    Threads,
    /// Its threads, and all processes that it starts.
    All,
}

impl Follows {
    pub(crate) fn options(self) -> i32 {
        match self {
            Follows::None => 0,
            Follows::Threads => libc::PTRACE_O_TRACECLONE,
            Follows::All => libc::PTRACE_O_TRACECLONE | libc::PTRACE_O_TRACEFORK | libc::PTRACE_O_TRACEVFORK,
        }
    }
}

/// Until when a process goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// To the next signal or event.
    Free,
    /// To the next signal, event, or border of a system call.
    Syscalls,
}

/// A process under control that stands still.
#[must_use = "a stopped process stands still until it is resumed"]
pub struct Stopped {
    pid: i32,
    /// Its registers, once they were asked for: nobody but us changes them while it stands still.
    pub(crate) seen: OnceCell<Box<libc::user_regs_struct>>,
    tracing_thread_only: PhantomData<*const ()>,
}

/// A process under control that runs.
pub struct Running {
    pid: i32,
    tracing_thread_only: PhantomData<*const ()>,
}

impl Running {
    pub(crate) fn new(pid: i32) -> Self {
        Self { pid, tracing_thread_only: PhantomData }
    }

    /// A process that was born under control and hasn't reported its first stop yet.
    pub(crate) fn born_traced(pid: i32) -> Self {
        Self::new(pid)
    }

    /// Process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// It has executed a program, and was another thread than the first of its process: from then on it has the first one's number, as that report on it says.
    ///
    /// # Panics
    /// If the report says something else.
    pub fn becomes_first(self, report: &Report) -> Self {
        assert!(report.is_exec(), "only a thread that executes a program gets another number");
        Self::new(report.pid())
    }
}

impl Stopped {
    pub(crate) fn from_report(running: Running) -> Self {
        Self { pid: running.pid, seen: OnceCell::new(), tracing_thread_only: PhantomData }
    }

    /// Process id.
    pub fn pid(&self) -> i32 {
        self.pid
    }
}

/// Why a process under control stands still.
pub enum Stop {
    /// Before a system call.
    SyscallEntry {
        /// Its number.
        number: u64,
        /// Its arguments.
        args: [u64; 6],
    },
    /// Before a system call by another table than this architecture's (`int 0x80`).
    ForeignSyscall,
    /// After a system call.
    SyscallExit {
        /// What it returns; -512 and below are the kernel's own codes for "interrupted".
        result: i64,
    },
    /// A signal is about to be delivered.
    Signal(libc::siginfo_t),
    /// [`Stopped::enter_handler`] has arrived at the handler's first instruction.
    HandlerEntered,
    /// A new program was loaded; the exec's exit stop follows.
    Exec,
    /// By [`Running::interrupt`], or because it was continued after a group stop.
    Interrupted,
    /// By this stopping signal, as any process would be: [`Stopped::stay_stopped`] leaves it so.
    Group(i32),
    /// In the middle of a system call that has started another process, which is under control from its birth and reports
    /// its first stop ([`Stop::Interrupted`]) by itself.
    Started {
        /// The new process.
        child: Running,
        /// Whether this one waits until the new one has another program or has ended, as with vfork.
        waits: bool,
    },
    /// An event that no option asked for.
    Other(i32),
}

impl Stop {
    /// The stopping signal by which the process is stopped, if it is.
    pub fn stopped_by(&self) -> Option<i32> {
        match self {
            Self::Group(signal) => Some(*signal),
            _ => None,
        }
    }

    /// In words, for messages.
    pub fn describe(&self) -> String {
        match self {
            Self::SyscallEntry { number, .. } => format!("entering system call {number}"),
            Self::ForeignSyscall => "entering a 32-bit system call".into(),
            Self::SyscallExit { result } => format!("leaving a system call with {result}"),
            Self::Signal(info) => format!("signal {} (code {})", info.si_signo, info.si_code),
            Self::HandlerEntered => "entering a signal handler".into(),
            Self::Exec => "exec".into(),
            Self::Interrupted => "interrupted".into(),
            Self::Group(signal) => format!("stopped by signal {signal}"),
            Self::Started { child, .. } => format!("starting process {}", child.pid()),
            Self::Other(event) => format!("event {event}"),
        }
    }
}

/// What has become of a running process.
pub enum Change {
    /// It stands still.
    Stopped(Stopped, Stop),
    /// It is gone and reaped.
    Ended(ExitStatus),
}
