//! Which system calls the in-process recorder takes, and what it must know of them: drawn from the table of system calls.
//!
//! Those that never wait for long, or are made again by the kernel if something breaks them off, so that nobody sees that an
//! interrupt came, and of which nobody but the log needs to know. What they mean for descriptors is told ([`super::memory::Shared::closed`]).

use syscall_replay::log::SYSCALL;
use syscall_replay::table::{Class, In, Len, Out, Row, row};

use super::layout::{
    CLOSES, COMMAND, FIXED, LAST_COMMAND, MOST_BYTES, NEEDS_FILE, OPENS, OTHER_COMMAND, OUTPUT, PATH, PATH_IS_SECOND,
    READS, ROOM_ARGUMENT, SECOND_IS_NULL, TABLE_LEN, WRITES,
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
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_getcwd,
    libc::SYS_fgetxattr,
    libc::SYS_flistxattr,
    libc::SYS_fadvise64,
];

/// Calls that look at paths, or change what they name.
const ON_PATHS: &[i64] = &[
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_stat,
    libc::SYS_lstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_access,
    libc::SYS_faccessat,
    libc::SYS_faccessat2,
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_getxattr,
    libc::SYS_lgetxattr,
    libc::SYS_listxattr,
    libc::SYS_llistxattr,
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    libc::SYS_rmdir,
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_chmod,
    libc::SYS_fchmodat,
    libc::SYS_chown,
    libc::SYS_lchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_chdir,
];

/// Calls whose first argument must be a file or a directory of a local file system, a pipe, a terminal or `/dev/null`.
const ON_FILES: &[i64] =
    &[libc::SYS_read, libc::SYS_write, libc::SYS_pread64, libc::SYS_pwrite64, libc::SYS_getdents64, libc::SYS_getdents];

/// Whether the recorder knows the call.
pub fn is_known(number: u64) -> bool {
    entry(number)[0] != 0
}

/// Whether it takes the call with these arguments, the first being a known file if it must be.
pub fn is_taken(number: u64, args: &[u64; 6]) -> bool {
    let [head, effects] = entry(number);
    let is = |flag| effects & flag != 0;
    let room = (effects >> ROOM_ARGUMENT & 7) as usize;
    head != 0
        && (!is(READS) || args[room] <= MOST_BYTES)
        && (!is(SECOND_IS_NULL) || args[1] == 0)
        && (!is(COMMAND) || args[1] <= LAST_COMMAND || args[1] == OTHER_COMMAND)
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
    let also = match number as i64 {
        libc::SYS_close => CLOSES,
        libc::SYS_fcntl => COMMAND,
        libc::SYS_open | libc::SYS_openat => OPENS,
        known if ON_FILES.contains(&known) => NEEDS_FILE,
        known if ALWAYS.contains(&known) || ON_PATHS.contains(&known) => 0,
        _ => return [0; 2],
    };
    let known = row(number).filter(|row| row.class == Class::Replay);
    let Some((row, effects)) = known.and_then(|row| Some((row, effects(row)?))) else { return [0; 2] };
    let head = SYSCALL | u64::from(row.arity) << 8 | number << 32;
    [head, effects | also]
}

/// What a call does to memory, `None` if the recorder has no way to record that.
fn effects(row: &Row) -> Option<u64> {
    let fixed = |at: u8, len: u32| FIXED | u64::from(len) << 16 | u64::from(at) << OUTPUT;
    let written = match (row.outputs, row.always) {
        ([], _) => 0,
        ([Out::Bytes(at, Len::ResultUpTo(most))], false) => {
            READS | u64::from(*at) << OUTPUT | u64::from(*most) << ROOM_ARGUMENT
        }
        ([Out::Bytes(at, Len::Fixed(len))], false) => fixed(*at, *len),
        ([Out::Bytes(0, Len::Fixed(len)), Out::Bytes(1, _)], false) => fixed(0, *len) | SECOND_IS_NULL,
        _ => return None,
    };
    let read = match row.inputs {
        [] => 0,
        [In::Bytes(1, Len::Arg(2))] if written == 0 => WRITES,
        [In::Text(0)] => PATH,
        [In::Text(1)] => PATH | PATH_IS_SECOND,
        _ => return None,
    };
    Some(written | read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_call_is_taken() {
        for number in ALWAYS.iter().chain(ON_FILES).chain(ON_PATHS).chain(&[libc::SYS_close, libc::SYS_fcntl]) {
            assert!(is_known(*number as u64), "{number}");
        }
        assert!(ON_FILES.iter().all(|&number| needs_file(number as u64)) && !needs_file(libc::SYS_lseek as u64));
        assert!(!is_known(libc::SYS_rename as u64) && !is_known(libc::SYS_poll as u64) && !is_known(u64::MAX));
        let takes = |number: i64, args: [u64; 6]| is_taken(number as u64, &args);
        assert!(takes(libc::SYS_read, [0; 6]) && !takes(libc::SYS_read, [0, 0, u64::MAX, 0, 0, 0]));
        assert!(
            takes(libc::SYS_readlinkat, [0, 0, 0, 9, 0, 0]) && !takes(libc::SYS_readlinkat, [0, 0, 0, u64::MAX, 0, 0])
        );
        let command = |command: i32| takes(libc::SYS_fcntl, [3, command as u64, 0, 0, 0, 0]);
        assert!(command(libc::F_SETFL) && command(libc::F_DUPFD_CLOEXEC));
        assert!(!command(libc::F_SETLK) && !command(libc::F_SETLEASE) && !command(libc::F_OFD_SETLKW));
    }

    #[test]
    fn entries_say_what_the_table_of_calls_says() {
        let head = |number: i64, arity: u64| SYSCALL | arity << 8 | (number as u64) << 32;
        assert_eq!(entry(libc::SYS_getppid as u64), [head(libc::SYS_getppid, 0), 0]);
        let clock = entry(libc::SYS_clock_gettime as u64);
        assert_eq!(clock, [head(libc::SYS_clock_gettime, 2), FIXED | 16 << 16 | 1 << OUTPUT]);
        let time = entry(libc::SYS_gettimeofday as u64);
        assert_eq!(time[1], FIXED | 16 << 16 | SECOND_IS_NULL);
        assert_eq!(entry(libc::SYS_write as u64)[1], WRITES | NEEDS_FILE);
        assert_eq!(entry(libc::SYS_openat as u64)[1], PATH | PATH_IS_SECOND | OPENS);
        assert_eq!(entry(libc::SYS_statx as u64)[1], FIXED | 256 << 16 | 4 << OUTPUT | PATH | PATH_IS_SECOND);
        assert_eq!(entry(libc::SYS_readlink as u64)[1], READS | 1 << OUTPUT | 2 << ROOM_ARGUMENT | PATH);
        assert_eq!(entry(libc::SYS_fcntl as u64), [head(libc::SYS_fcntl, 3), COMMAND]);
    }
}
