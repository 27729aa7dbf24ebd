//! Which system calls the in-process recorder takes, and what it must know of them: drawn from the table of system calls.
//!
//! Those that never wait for anything, so that no signal or interrupt can break them off, that don't change what descriptors
//! mean, and of which nobody but the log needs to know.

use syscall_replay::log::SYSCALL;
use syscall_replay::table::{Class, In, Len, Out, Row, row};

use super::layout::{
    BY_DESCRIPTOR, FIXED, MOST_BYTES, NEEDS_FILE, READS, SECOND_IS_NULL, TABLE_LEN, TO_FIRST, TO_THIRD, WRITES,
};

/// Calls that never wait, whatever their arguments.
const ALWAYS: &[i64] = &[
    libc::SYS_sched_yield,
    libc::SYS_lseek,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getppid,
    libc::SYS_getpgid,
    libc::SYS_getpgrp,
    libc::SYS_getsid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_umask,
    libc::SYS_getpriority,
    libc::SYS_sched_getscheduler,
    libc::SYS_sched_get_priority_min,
    libc::SYS_sched_get_priority_max,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_gettimeofday,
    libc::SYS_time,
    libc::SYS_times,
    libc::SYS_getrusage,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_getitimer,
];

/// Calls that never wait if their first argument is a file of a local file system.
const ON_FILES: &[i64] =
    &[libc::SYS_read, libc::SYS_write, libc::SYS_pread64, libc::SYS_pwrite64, libc::SYS_fstat, libc::SYS_newfstatat];

/// Whether the recorder knows the call.
pub fn is_known(number: u64) -> bool {
    entry(number)[0] != 0
}

/// Whether it takes the call with these arguments, the first being a known file if it must be.
pub fn is_taken(number: u64, args: &[u64; 6]) -> bool {
    let [head, effects] = entry(number);
    let is = |flag| effects & flag != 0;
    head != 0
        && (!is(READS) || args[2] <= MOST_BYTES)
        && (!is(SECOND_IS_NULL) || args[1] == 0)
        && (!is(BY_DESCRIPTOR) || args[3] == libc::AT_EMPTY_PATH as u64)
}

/// Whether the call's first argument must be a known file.
pub fn needs_file(number: u64) -> bool {
    entry(number)[1] & NEEDS_FILE != 0
}

/// The recorder's table.
pub fn entries() -> impl Iterator<Item = [u64; 2]> {
    (0..TABLE_LEN).map(entry)
}

fn entry(number: u64) -> [u64; 2] {
    let wanted = [ALWAYS, ON_FILES].map(|list| list.contains(&(number as i64)));
    let known = row(number).filter(|row| row.class == Class::Replay && wanted.contains(&true));
    let Some((row, effects)) = known.and_then(|row| Some((row, effects(row)?))) else { return [0; 2] };
    let head = SYSCALL | u64::from(row.arity) << 8 | number << 32;
    [head, effects | if wanted[1] { NEEDS_FILE } else { 0 }]
}

/// What a call does to memory, `None` if the recorder has no way to record that.
fn effects(row: &Row) -> Option<u64> {
    let fixed = |len: u32| FIXED | u64::from(len) << 16;
    match (row.outputs, row.inputs, row.always) {
        ([], [], _) => Some(0),
        ([], [In::Bytes(1, Len::Arg(2))], _) => Some(WRITES),
        ([Out::Bytes(1, Len::ResultUpTo(2))], [], false) => Some(READS),
        ([Out::Bytes(0, Len::Fixed(len))], [], false) => Some(fixed(*len) | TO_FIRST),
        ([Out::Bytes(1, Len::Fixed(len))], [], false) => Some(fixed(*len)),
        ([Out::Bytes(0, Len::Fixed(len)), Out::Bytes(1, _)], [], false) => {
            Some(fixed(*len) | TO_FIRST | SECOND_IS_NULL)
        }
        ([Out::Bytes(2, Len::Fixed(len))], [In::Text(1)], false) => Some(fixed(*len) | TO_THIRD | BY_DESCRIPTOR),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_call_is_taken() {
        for number in ALWAYS.iter().chain(ON_FILES) {
            assert!(is_known(*number as u64), "{number}");
        }
        assert_eq!(ON_FILES.iter().filter(|&&number| !needs_file(number as u64)).count(), 0);
        assert!(!is_known(libc::SYS_close as u64) && !is_known(u64::MAX));
        assert!(
            is_taken(libc::SYS_read as u64, &[0; 6]) && !is_taken(libc::SYS_read as u64, &[0, 0, u64::MAX, 0, 0, 0])
        );
    }

    #[test]
    fn entries_say_what_the_table_of_calls_says() {
        let head = |number: i64, arity: u64| SYSCALL | arity << 8 | (number as u64) << 32;
        assert_eq!(entry(libc::SYS_getppid as u64), [head(libc::SYS_getppid, 0), 0]);
        let clock = entry(libc::SYS_clock_gettime as u64);
        assert_eq!(clock, [head(libc::SYS_clock_gettime, 2), FIXED | 16 << 16]);
        let time = entry(libc::SYS_gettimeofday as u64);
        assert_eq!(time[1], FIXED | 16 << 16 | TO_FIRST | SECOND_IS_NULL);
        assert_eq!(entry(libc::SYS_write as u64)[1], WRITES | NEEDS_FILE);
    }
}
