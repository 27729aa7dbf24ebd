//! The language of the table.

use machine::Memory;

/// What is done about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The master executes it; a slice applies the recorded result and bytes.
    Replay,
    /// It shapes the address space or thread state: the master executes it, and a slice does the same again.
    Repeat,
    /// It isn't recorded: the slice ends at it, the next starts after it.
    Boundary,
    /// The supervisor handles it by name.
    Special(Special),
    /// Not executed at all, in no mode: the app gets `result`, usually what a kernel without the call answers.
    Refuse {
        /// What rax holds afterwards.
        result: i64,
    },
}

/// Calls that change what the process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// `execve`, `execveat`.
    Exec,
    /// `exit`, `exit_group`.
    Exit,
    /// `clone`, `clone3` with `CLONE_THREAD`.
    StartThread,
    /// `clone`, `clone3` of another process, `fork`, `vfork`: a boundary for slices.
    StartProcess,
    /// `rt_sigreturn`: a boundary for slices.
    SignalReturn,
}

/// How many bytes. Argument positions count from 0. What depends on the result has a bound that doesn't, so that
/// the table also says before a call how far the kernel may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Len {
    /// This many.
    Fixed(u32),
    /// The call's result, at most the argument.
    ResultUpTo(u8),
    /// The call's result, at most the argument, times a size.
    ResultTimesUpTo(u32, u8),
    /// The call's result, at most the argument, and the 8 bytes of a message's type.
    MessageUpTo(u8),
    /// The argument.
    Arg(u8),
    /// The argument times a size.
    ArgTimes(u8, u32),
    /// One byte for each page of as many bytes as the argument.
    PagesOf(u8),
    /// As many bits as the argument, in 64-bit words.
    BitsOf(u8),
    /// What the `file_handle` at the argument says it has room for.
    FileHandle(u8),
}

/// Memory that the kernel writes. A null pointer means nothing is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Out {
    /// A buffer.
    Bytes(u8, Len),
    /// Result bytes, scattered over an array of `iovec` with a count.
    Iovecs(u8, u8),
    /// A `msghdr` and all that it points to.
    Message(u8),
    /// An array of `mmsghdr` with a count, of which as many as the result, and all that they point to.
    Messages(u8, u8),
    /// An array of `mmsghdr` with a count, of which as many as the result: only their lengths.
    SentMessages(u8, u8),
    /// The buffer that one `iovec` tells, whose length the call makes that of what it has written.
    Iovec(u8),
    /// A buffer and a 32-bit length, read as room and written as size.
    Counted(u8, u8),
    /// An `fd_set` with as many bits as the argument, in 64-bit words.
    FdSet(u8, u8),
}

/// Memory that the kernel reads and that is worth checking in a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum In {
    /// A buffer.
    Bytes(u8, Len),
    /// An array of `iovec` with a count.
    Iovecs(u8, u8),
    /// A path or name.
    Text(u8),
}

/// One system call.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Its number.
    pub number: u32,
    /// Its name.
    pub name: &'static str,
    /// How many arguments the kernel looks at.
    pub arity: u8,
    /// What is done about it, where `choice` doesn't say otherwise.
    pub class: Class,
    /// What it writes.
    pub outputs: &'static [Out],
    /// What it reads.
    pub inputs: &'static [In],
    /// Whether outputs are written even if the call fails (a remaining time, for instance).
    pub always: bool,
    /// Where one number stands for many calls.
    pub(super) choice: Option<Choice>,
}

/// What `refuse` makes of a call.
const NOSYS: Class = Class::Refuse { result: -(libc::ENOSYS as i64) };

/// Short, so that rows read like the manual's synopsis.
impl Row {
    pub(super) const fn out(self, outputs: &'static [Out]) -> Row {
        Row { outputs, ..self }
    }

    /// Like [`Row::out`]; these are written even if the call fails.
    pub(super) const fn out_always(self, outputs: &'static [Out]) -> Row {
        Row { outputs, always: true, ..self }
    }

    pub(super) const fn reads(self, inputs: &'static [In]) -> Row {
        Row { inputs, ..self }
    }

    pub(super) const fn is(self, class: Class) -> Row {
        Row { class, ..self }
    }

    pub(super) const fn repeat(self) -> Row {
        self.is(Class::Repeat)
    }

    pub(super) const fn boundary(self) -> Row {
        self.is(Class::Boundary)
    }

    pub(super) const fn refuse(self) -> Row {
        self.is(NOSYS)
    }

    pub(super) const fn by_value(self, arg: u8, mask: u64, commands: &'static [Command]) -> Row {
        Row { choice: Some(Choice::Value { arg, mask, commands }), ..self }
    }

    pub(super) const fn by_args(self, class: fn(&[u64; 6]) -> Class) -> Row {
        Row { choice: Some(Choice::Args(class)), ..self }
    }

    pub(super) const fn by_memory(self, class: fn(&[u64; 6], &dyn Memory) -> Class) -> Row {
        Row { choice: Some(Choice::Memory(class)), ..self }
    }
}

/// How a multiplexed call is told apart.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    /// By an argument's value under a mask; a value that isn't listed is a boundary.
    Value { arg: u8, mask: u64, commands: &'static [Command] },
    /// By the arguments.
    Args(fn(&[u64; 6]) -> Class),
    /// By the arguments and by memory that they point to.
    Memory(fn(&[u64; 6], &dyn Memory) -> Class),
}

/// One command of a multiplexed call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Command {
    pub(super) value: u64,
    pub(super) name: &'static str,
    pub(super) class: Class,
    pub(super) outputs: &'static [Out],
}

/// What the table says about one call with its arguments.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The call's row; `None` for a number that isn't in the table.
    pub row: Option<&'static Row>,
    /// The command of a multiplexed call.
    pub command: Option<&'static str>,
    /// What is done about it.
    pub class: Class,
    /// What it writes.
    pub outputs: &'static [Out],
}

impl Rule {
    /// How many arguments the kernel looks at.
    pub fn arity(&self) -> usize {
        self.row.map_or(6, |row| row.arity as usize)
    }
}
