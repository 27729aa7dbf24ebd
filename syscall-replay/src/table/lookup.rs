//! What the table says about a call.

use machine::Memory;

use super::rows::ROWS;
use super::types::{Choice, Class, Command, Row, Rule};

const UNKNOWN: Rule = Rule { row: None, command: None, class: Class::Boundary, outputs: &[] };

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
    use super::super::types::Out;
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
