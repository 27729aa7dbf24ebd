//! A system call of the app's.

use engine::check;
use machine::{AppPc, Here};
use slice_runtime::SystemCall;
use syscall_replay::effects::{self, Range};
use syscall_replay::is_error;
use syscall_replay::table::{Class, Parameter, Special, parameters};

use super::argument::SyscallArgument;
use super::names::syscall_name;
use crate::memory;

/// What [`crate::Tool::ON_SYSCALL`] is told.
#[derive(Clone, Copy, Debug)]
pub enum SyscallEvent<'a> {
    /// The app is about to make a call.
    Entry(Syscall<'a>),
    /// The call is over: its result is known, and what it has written is in memory. Calls that don't come back have none: `exit`, `exit_group`, and those in which the app
    /// is killed.
    Exit(Syscall<'a>),
}

impl<'a> SyscallEvent<'a> {
    /// Of which call.
    pub fn call(&self) -> Syscall<'a> {
        match *self {
            Self::Entry(call) | Self::Exit(call) => call,
        }
    }
}

/// What a call does besides reading and writing memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyscallKind {
    /// Nothing.
    Ordinary,
    /// It starts a process (`fork`, `vfork`, `clone`, `clone3`): its result is the child's number. Of the child's side nothing is told here: with `-follow 1` it is a run of its own.
    StartsProcess,
    /// It starts a thread: its result is that thread's number.
    StartsThread,
    /// It loads another program (`execve`, `execveat`).
    Exec,
    /// It ends the thread or the process.
    Exit,
    /// A signal handler returns by it. Its result is the one of the call that was interrupted, or whatever rax held.
    SignalReturn,
}

/// A system call of the app's, at its entry or its exit.
#[derive(Clone, Copy, Debug)]
pub struct Syscall<'a>(&'a SystemCall);

impl<'a> Syscall<'a> {
    pub(crate) fn new(call: &'a SystemCall) -> Self {
        Self(call)
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.0.number as u32
    }

    /// Its name: `openat`. `unknown` for a number that the table of system calls doesn't have.
    pub fn name(&self) -> &'static str {
        syscall_name(self.number())
    }

    /// What it is told to do, if one number stands for many calls: `TCGETS` for `ioctl`, where the table knows it.
    pub fn command(&self) -> Option<&'static str> {
        self.0.rule.command
    }

    /// Where the instruction is; 0 at the exit of an exec that has succeeded.
    pub fn pc(&self) -> AppPc {
        AppPc(self.0.pc)
    }

    /// Number of the thread that makes it: [`crate::ThreadInfo::number`].
    pub fn thread(&self) -> u64 {
        self.0.thread
    }

    /// The argument at `position`, from 0, whether the kernel looks at it or not. At the exit of an exec that has succeeded all are 0: what they named is gone.
    ///
    /// # Panics
    /// From 6 on.
    pub fn arg(&self, position: usize) -> u64 {
        self.0.args[position]
    }

    /// The arguments that the kernel looks at, by name and type. All six, without names, if the call is unknown.
    pub fn arguments(&self) -> impl Iterator<Item = SyscallArgument> + use<> {
        const UNNAMED: &[Parameter] = &[Parameter { name: "", c_type: "" }; 6];
        let parameters = match self.0.rule.row {
            Some(row) if parameters(row).len() == usize::from(row.arity) => parameters(row),
            Some(row) => &UNNAMED[..usize::from(row.arity)],
            None => UNNAMED,
        };
        parameters.iter().zip(self.0.args).map(|(parameter, value)| SyscallArgument::new(*parameter, value))
    }

    /// What it does.
    pub fn kind(&self) -> SyscallKind {
        match self.0.rule.class {
            Class::Special(Special::StartProcess) => SyscallKind::StartsProcess,
            Class::Special(Special::StartThread) => SyscallKind::StartsThread,
            Class::Special(Special::Exec) => SyscallKind::Exec,
            Class::Special(Special::Exit) => SyscallKind::Exit,
            Class::Special(Special::SignalReturn) => SyscallKind::SignalReturn,
            Class::Replay | Class::Repeat | Class::Boundary | Class::Refuse { .. } => SyscallKind::Ordinary,
        }
    }

    /// What it has left in rax. `None` at its entry.
    ///
    /// A call into which a handler came has failed with `EINTR`, also if it is made again afterwards: that is another call.
    pub fn result(&self) -> Option<i64> {
        self.0.result.map(|result| result as i64)
    }

    /// The number of the error with which it has failed. `None` at its entry, and if it hasn't failed.
    pub fn error(&self) -> Option<i32> {
        let result = self.0.result.filter(|result| is_error(*result) && self.kind() != SyscallKind::SignalReturn)?;
        Some(-(result as i64) as i32)
    }

    /// Where it reads, as far as the table of system calls names that: paths, what is written to files. For its entry.
    pub fn reads(&self) -> impl Iterator<Item = AppRange> + use<> {
        // The runtime asks the kernel for what the call's arguments lead to, not the tool.
        let readable = |row| check::while_allowed(|| effects::readable(row, &self.0.args, &Here::new()));
        let ranges = self.0.rule.row.map_or_else(Vec::new, readable);
        ranges.into_iter().map(AppRange::new)
    }

    /// Where it has written. Ranges may overlap, and may name more than it has written: a structure of which the kernel fills in a part, say. Nothing at its entry, and
    /// for calls that the table doesn't know. What calls do to mappings isn't writing.
    pub fn written(&self) -> impl Iterator<Item = AppRange> + use<> {
        check::while_allowed(|| self.0.written()).into_iter().map(AppRange::new)
    }
}

/// A range of the app's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppRange {
    /// First address.
    pub address: u64,
    /// Length in bytes.
    pub len: u64,
}

impl AppRange {
    fn new(range: Range) -> Self {
        Self { address: range.address, len: range.len }
    }

    /// What is there now: as much as is readable, at most `most` bytes.
    pub fn bytes(&self, most: usize) -> Vec<u8> {
        let mut bytes = vec![0; usize::try_from(self.len).unwrap_or(usize::MAX).min(most)];
        let len = memory::read(self.address, &mut bytes);
        bytes.truncate(len);
        bytes
    }
}
