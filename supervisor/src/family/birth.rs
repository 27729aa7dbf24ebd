//! Processes that a followed process starts.

use std::collections::BTreeMap;

use bubble::map::BUBBLE;
use tracee::{Change, Mode, Remote, Report, Running, Stop, Stopped, TraceError, is_breakpoint};

use crate::entry::Prepared;
use crate::error::Failure;
use crate::sliced::files::Kept;
use crate::sliced::limits::OwnLimits;
use crate::sliced::shared_maps::Unstable;

/// A process that a followed one has started. It is under control and hasn't executed anything yet.
pub struct Birth {
    /// It.
    pub child: Running,
    /// What becomes of it.
    pub kind: Kind,
}

/// What becomes of a new process.
pub enum Kind {
    /// It has a copy of its parent's memory and is followed.
    Copy(Box<Heritage>),
    /// It uses its parent's memory, and its parent waits (vfork): it is followed from its exec on.
    Borrower,
    /// It is no process, but a thread of a followed one.
    Thread,
    /// Nobody follows its parent: nor is it.
    Stranger,
}

/// What is known of a copy from its parent.
pub struct Heritage {
    /// A `syscall` instruction for remote calls.
    pub gate: u64,
    /// Whether it may have shared mappings.
    pub shares_memory: bool,
    /// Files whose mappings change when they are written.
    pub unstable: Unstable,
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
    Copy(Box<Heritage>),
}

impl Heritage {
    /// Asks for what changes with each system call.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn prepared(&self, process: &mut Stopped) -> Result<Prepared, TraceError> {
        let mut remote = Remote::new(process, self.gate)?;
        let brk = remote.expect("ask for its program break", libc::SYS_brk, [0; 6])?;
        Ok(Prepared { gate: self.gate, brk })
    }

    /// Makes the bubble what it is in a program that nobody has taken over.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn clear_bubble(&self, process: &mut Stopped) -> Result<(), TraceError> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        let args = [BUBBLE.start, BUBBLE.size, libc::PROT_NONE as u64, flags as u64, u64::MAX, 0];
        Remote::new(process, self.gate)?.expect("clear the bubble", libc::SYS_mmap, args)?;
        Ok(())
    }
}

/// Births whose first reports came before their parents' or after.
#[derive(Default)]
pub struct Cradle {
    early: BTreeMap<i32, Report>,
}

impl Cradle {
    /// A process that nobody knows yet has stopped.
    pub fn keep(&mut self, report: Report) {
        self.early.insert(report.pid(), report);
    }

    /// A new process at its first stop.
    ///
    /// # Errors
    /// If it was killed.
    pub fn take(&mut self, child: Running) -> Result<Stopped, TraceError> {
        let pid = child.pid();
        match self.early.remove(&pid) {
            Some(report) => match child.observe(report)? {
                Change::Stopped(stopped, _) => Ok(stopped),
                Change::Ended(_) => Err(TraceError::Gone { pid, action: "wait for it" }),
            },
            None => Ok(child.wait()?.0),
        }
    }
}

/// Lets a process that stands in a tool image's code go on to where the app's code does.
///
/// # Errors
/// If it was killed.
pub fn run_to(mut process: Stopped, address: u64) -> Result<Stopped, TraceError> {
    process.set_breakpoint(0, address)?;
    let mut early = Vec::new();
    loop {
        let (stopped, stop) = process.resume_and_wait(Mode::Free, 0)?;
        process = stopped;
        match stop {
            Stop::Signal(info) if is_breakpoint(&info) => break,
            // The app's code has to see it first.
            Stop::Signal(info) => early.push(info.si_signo),
            _ => {}
        }
    }
    process.clear_breakpoint(0)?;
    for signal in early {
        // SAFETY: kill has no memory preconditions; the process hasn't been reaped.
        unsafe { libc::kill(process.pid(), signal) };
    }
    Ok(process)
}

/// Whether a process has another number to itself than to us.
pub fn has_other_numbers(pid: i32) -> bool {
    let numbers = |pid: &str| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        line.map_or(0, |line| line.split_ascii_whitespace().count())
    };
    numbers(&pid.to_string()) != numbers("self")
}

/// What a process executes, for people: its arguments.
pub fn name_of(pid: i32) -> String {
    const LONGEST: usize = 80;
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = line.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
    let text = words.collect::<Vec<_>>().join(" ");
    text.trim_end().chars().map(|c| if c.is_control() { ' ' } else { c }).take(LONGEST).collect()
}

/// A process in its parent's memory, until it executes a program.
pub struct Borrower {
    running: Running,
}

/// What has become of a borrower.
pub enum Borrowed {
    /// It goes on as before.
    Still(Borrower),
    /// It has started another process.
    Parent(Borrower, Birth),
    /// It has a program of its own, before its first instruction.
    Program(Stopped),
}

impl Borrower {
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
    pub fn observe(self, report: Report) -> Result<Borrowed, Failure> {
        let pid = self.running.pid();
        let Change::Stopped(stopped, stop) = self.running.observe(report)? else {
            return Err(TraceError::Gone { pid, action: "wait for it" }.into());
        };
        let running = match stop {
            Stop::Exec => return Ok(Borrowed::Program(stopped.finish_exec()?)),
            Stop::Started { child, waits } => {
                let kind = if waits { Kind::Borrower } else { Kind::Copy(Box::new(heritage(&stopped)?)) };
                let borrower = Self::start(stopped)?;
                return Ok(Borrowed::Parent(borrower, Birth { child, kind }));
            }
            Stop::Signal(info) => stopped.resume(Mode::Free, info.si_signo)?,
            Stop::Group(_) => stopped.stay_stopped()?,
            _ => stopped.resume(Mode::Free, 0)?,
        };
        Ok(Borrowed::Still(Self { running }))
    }
}

/// Of a copy of a borrower's memory: it is in no tool image's code.
fn heritage(process: &Stopped) -> Result<Heritage, Failure> {
    let gate = crate::entry::gate_of(process)?;
    let name = name_of(process.pid());
    Ok(Heritage {
        gate,
        shares_memory: true,
        unstable: Unstable::default(),
        kept: Kept::new(),
        limits: OwnLimits::default(),
        file_pages: Vec::new(),
        at: None,
        name,
    })
}
