//! The one table of system calls: what each is for a replay, and which bytes of the app's memory the kernel writes.
//!
//! A row names what the manual page says in a small typed language ([`Out`], [`Len`], [`In`]) over the
//! arguments and the result. Recording interprets it; replay doesn't need it, since the log holds the bytes.
//!
//! Two rules make the table safe:
//! * What isn't named (an unknown number, `ioctl` request or `fcntl` command) is [`Class::Boundary`]: the next slice is
//!   forked after the call and nothing about it needs to be known.
//! * A row may name more bytes than the kernel writes, never fewer. Bytes that the kernel left alone are the same in the
//!   slice, so recording them changes nothing.

mod choices;
mod commands;
mod rows;
mod values;

use machine::Memory;

pub use rows::ROWS;

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
    choice: Option<Choice>,
}

/// How a multiplexed call is told apart.
#[derive(Clone, Copy, Debug)]
enum Choice {
    /// By an argument's value under a mask; a value that isn't listed is a boundary.
    Value { arg: u8, mask: u64, commands: &'static [Command] },
    /// By the arguments.
    Args(fn(&[u64; 6]) -> Class),
    /// By the arguments and by memory that they point to.
    Memory(fn(&[u64; 6], &dyn Memory) -> Class),
}

/// One command of a multiplexed call.
#[derive(Clone, Copy, Debug)]
struct Command {
    value: u64,
    name: &'static str,
    class: Class,
    outputs: &'static [Out],
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

const UNKNOWN: Rule = Rule { row: None, command: None, class: Class::Boundary, outputs: &[] };

impl Rule {
    /// How many arguments the kernel looks at.
    pub fn arity(&self) -> usize {
        self.row.map_or(6, |row| row.arity as usize)
    }
}

/// The table's answer for a call. `number` is rax at the call's entry: the kernel looks at its lower half.
pub fn lookup(number: u64, args: &[u64; 6], memory: &dyn Memory) -> Rule {
    let Some(row) = row(number) else { return UNKNOWN };
    let rule = Rule { row: Some(row), command: None, class: row.class, outputs: row.outputs };
    match row.choice {
        None => rule,
        Some(Choice::Args(class)) => Rule { class: class(args), ..rule },
        Some(Choice::Memory(class)) => Rule { class: class(args, memory), ..rule },
        Some(Choice::Value { arg, mask, commands }) => {
            let value = args[arg as usize] & mask;
            match commands.binary_search_by_key(&value, |command| command.value) {
                Ok(i) => {
                    let Command { name, class, outputs, .. } = commands[i];
                    Rule { command: Some(name), class, outputs, ..rule }
                }
                Err(_) => Rule { class: Class::Boundary, outputs: &[], ..rule },
            }
        }
    }
}

/// The row of a number, if the table has it.
pub fn row(number: u64) -> Option<&'static Row> {
    let number = number as u32;
    ROWS.binary_search_by_key(&number, |row| row.number).ok().map(|i| &ROWS[i])
}

/// Whether a call sends SIGKILL, perhaps to the process that makes it: it may not return.
pub fn may_kill(number: u64, args: &[u64; 6]) -> bool {
    let signal = match number as i64 {
        libc::SYS_kill | libc::SYS_tkill | libc::SYS_rt_sigqueueinfo | libc::SYS_pidfd_send_signal => args[1],
        libc::SYS_tgkill | libc::SYS_rt_tgsigqueueinfo => args[2],
        _ => return false,
    };
    signal as i32 == libc::SIGKILL
}

/// Whether a call writes to another process's memory, which may be memory that it shares with the one that makes the call.
pub fn writes_elsewhere(number: u64, args: &[u64; 6]) -> bool {
    const POKES: [u64; 2] = [4, 5];
    number as i64 == libc::SYS_ptrace && POKES.contains(&args[0])
}

/// A call's name for messages: `read`, or `system call 999`.
pub fn name(number: u64) -> String {
    row(number).map_or_else(|| format!("system call {}", number as u32), |row| row.name.to_owned())
}

/// The system call that the kernel makes for a program that calls this address of the vsyscall page.
pub fn vsyscall(address: u64) -> Option<i64> {
    match address {
        0xffff_ffff_ff60_0000 => Some(libc::SYS_gettimeofday),
        0xffff_ffff_ff60_0400 => Some(libc::SYS_time),
        0xffff_ffff_ff60_0800 => Some(libc::SYS_getcpu),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::Here;

    #[test]
    fn no_number_is_missing() {
        let named: Vec<u32> = ROWS.iter().map(|row| row.number).collect();
        let expected: Vec<u32> = (0..=336).chain(424..=469).collect();
        assert_eq!(named, expected);
        assert_eq!(ROWS.len(), 383);
    }

    #[test]
    fn names_belong_to_their_numbers() {
        let known = [
            ("read", libc::SYS_read),
            ("mremap", libc::SYS_mremap),
            ("sendfile", libc::SYS_sendfile),
            ("getcwd", libc::SYS_getcwd),
            ("getresgid", libc::SYS_getresgid),
            ("prctl", libc::SYS_prctl),
            ("security", libc::SYS_security),
            ("io_setup", libc::SYS_io_setup),
            ("clock_nanosleep", libc::SYS_clock_nanosleep),
            ("mq_open", libc::SYS_mq_open),
            ("openat", libc::SYS_openat),
            ("splice", libc::SYS_splice),
            ("preadv", libc::SYS_preadv),
            ("getcpu", libc::SYS_getcpu),
            ("rseq", libc::SYS_rseq),
            ("clone3", libc::SYS_clone3),
            ("memfd_secret", libc::SYS_memfd_secret),
            ("set_mempolicy_home_node", libc::SYS_set_mempolicy_home_node),
        ];
        for (name, number) in known {
            assert_eq!(row(number as u64).map(|row| row.name), Some(name));
        }
        let mut names: Vec<&str> = ROWS.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ROWS.len());
    }

    #[test]
    fn commands_are_sorted_by_value() {
        for row in ROWS {
            if let Some(Choice::Value { commands, mask, .. }) = row.choice {
                assert!(commands.is_sorted_by(|a, b| a.value < b.value), "{}", row.name);
                assert!(commands.iter().all(|c| c.value & mask == c.value), "{}", row.name);
            }
        }
    }

    #[test]
    fn positions_are_arguments_of_the_call() {
        for row in ROWS {
            for out in row.outputs {
                let position = match *out {
                    Out::Bytes(p, _) | Out::Message(p) | Out::Iovec(p) => p,
                    Out::Messages(p, n) | Out::SentMessages(p, n) => p.max(n),
                    Out::Iovecs(p, n) | Out::Counted(p, n) | Out::FdSet(p, n) => p.max(n),
                };
                assert!(position < row.arity, "{}", row.name);
            }
        }
    }

    #[test]
    fn calls_that_may_not_return_are_known() {
        assert!(may_kill(libc::SYS_kill as u64, &[1, 9, 0, 0, 0, 0]));
        assert!(may_kill(libc::SYS_tgkill as u64, &[1, 1, 9, 0, 0, 0]));
        assert!(!may_kill(libc::SYS_kill as u64, &[9, 15, 0, 0, 0, 0]));
        assert!(!may_kill(libc::SYS_getpid as u64, &[9; 6]));
    }

    #[test]
    fn debuggers_are_told_what_they_ask_for() {
        let mut words = [7_u64; 40];
        let mut buffer = [words.as_mut_ptr() as u64, 216];
        let at = buffer.as_mut_ptr() as u64;
        let written = |request: u64, result: u64, data: u64| {
            let args = [request, 1, 1, data, 0, 0];
            let rule = lookup(libc::SYS_ptrace as u64, &args, &Here::new());
            let entry = crate::effects::Entry::note(&rule, &args, &Here::new());
            let list = crate::effects::written(&rule, &args, result, entry, &Here::new());
            (rule.class, list.into_iter().map(|range| (range.address, range.len)).collect::<Vec<_>>())
        };
        let replayed = |ranges: &[(u64, u64)]| (Class::Replay, ranges.to_vec());
        assert_eq!(written(0x4204, 0, at), replayed(&[(buffer[0], 216), (at, 16)]));
        assert_eq!(written(2, 0, at), replayed(&[(at, 8)]));
        assert_eq!(written(24, 0, at), replayed(&[]));
        assert_eq!(written(0, 0, at).0, Class::Boundary);
        assert_eq!(written(1 << 32 | 24, 0, at).0, Class::Boundary);
        assert!(writes_elsewhere(libc::SYS_ptrace as u64, &[4, 1, 0, 0, 0, 0]));
        assert!(!writes_elsewhere(libc::SYS_ptrace as u64, &[24, 1, 0, 0, 0, 0]));
    }

    #[test]
    fn what_is_not_known_is_a_boundary() {
        let here = Here::new();
        assert_eq!(lookup(9999, &[0; 6], &here).class, Class::Boundary);
        assert_eq!(lookup(libc::SYS_ioctl as u64, &[0, 0xdead, 0, 0, 0, 0], &here).class, Class::Boundary);
        assert_eq!(lookup(libc::SYS_ioctl as u64, &[0, libc::TCGETS, 0, 0, 0, 0], &here).class, Class::Replay);
        assert_eq!(lookup((1 << 30) | 1, &[0; 6], &here).class, Class::Boundary);
    }
}
