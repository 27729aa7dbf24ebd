//! Which system calls the in-process recorder takes, and what it must know of them: drawn from the table of system calls.
//!
//! Those that never wait for long, or are made again by the kernel if something breaks them off, so that nobody sees that an
//! interrupt came, and of which nobody but the log needs to know. What they mean for descriptors is told ([`crate::sliced::recorder::shared::Shared::closed`]).

use syscall_replay::log::{REMAP, SYSCALL};
use syscall_replay::table::{Class, In, Len, Out, Row, row};

use super::layout::{
    CHILDREN, CLOSES, CLOSES_SECOND, COMMAND, CONDITIONS, CREATES, FIXED, GATHERS, IOCTL, LAST_COMMAND, LOCK_COMMAND,
    MASKS, MESSAGE, MESSAGE_FLAGS, MOST_BYTES, MOST_EVENTS, MOST_PIECES, MOST_POLLED, MOST_RANDOM, NEEDS_FILE, OPENS,
    OTHER_COMMAND, OUTPUT, PATH, PATH_IS_SECOND, POLLS, PROTECTS, RANDOM, READS, ROOM_ARGUMENT, SECOND_IS_NULL, SHOWS,
    TABLE_LEN, TRACES, TWO_PATHS, WRITES, YIELDS,
};
use super::requests;

/// Calls that never wait, whatever their arguments.
const ALWAYS: &[i64] = &[
    libc::SYS_dup,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_lseek,
    libc::SYS_mlock,
    libc::SYS_munlock,
    libc::SYS_mlock2,
    libc::SYS_msync,
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
    libc::SYS_alarm,
    libc::SYS_getitimer,
    libc::SYS_setitimer,
    libc::SYS_fstat,
    libc::SYS_fstatfs,
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_getcwd,
    libc::SYS_fgetxattr,
    libc::SYS_flistxattr,
    libc::SYS_fadvise64,
    libc::SYS_fchdir,
    libc::SYS_pipe,
    libc::SYS_pipe2,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_listen,
    libc::SYS_shutdown,
    libc::SYS_setsockopt,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_eventfd2,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_timerfd_gettime,
];

/// What a futex is asked for, without flags.
const FUTEX_COMMAND: i32 = 0x7f;

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
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_chdir,
    libc::SYS_rename,
    libc::SYS_renameat,
    libc::SYS_renameat2,
    libc::SYS_link,
    libc::SYS_linkat,
    libc::SYS_symlink,
    libc::SYS_symlinkat,
];

/// Calls whose first argument must be a file or a directory of a local file system, a pipe, a socket, a terminal or `/dev/null`.
const ON_FILES: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    libc::SYS_writev,
    libc::SYS_pwritev,
    libc::SYS_getdents64,
    libc::SYS_getdents,
];

/// The same, with flags and an address.
const MESSAGES: &[i64] = &[libc::SYS_sendto, libc::SYS_recvfrom];

/// Calls that wait until something happens: the recorder makes them without waiting.
const POLLING: &[i64] = &[libc::SYS_poll, libc::SYS_epoll_wait, libc::SYS_epoll_pwait];

/// Those that slices make again: one that changes the protection of memory,
pub const PROTECT: u64 = libc::SYS_mprotect as u64;
/// and one that maps other pages of shared memory in the place of some.
pub const SHOW: u64 = libc::SYS_remap_file_pages as u64;

/// Whether the call may wait for others, or is to let them go first: where other threads want to go on the recorder doesn't make it.
pub fn may_wait(number: u64) -> bool {
    const WAITING: [i64; 5] =
        [libc::SYS_sched_yield, libc::SYS_fsync, libc::SYS_fdatasync, libc::SYS_msync, libc::SYS_wait4];
    let number = number as i64;
    WAITING.contains(&number) || POLLING.contains(&number) || MESSAGES.contains(&number)
}

/// Whether the call waits for others, or lets them go first, and can be made again as it is: where the recorder passes the turn on, it does so in that call.
pub fn passes_turn_on(number: u64, args: &[u64; 6]) -> bool {
    match (number as i64, args[1] as i32 & FUTEX_COMMAND) {
        _ if lets_others_go_first(number) => true,
        (libc::SYS_futex, libc::FUTEX_WAIT_BITSET) => true,
        (libc::SYS_futex, libc::FUTEX_WAIT) => args[3] == 0,
        _ => false,
    }
}

/// Whether that is all that the call does.
pub fn lets_others_go_first(number: u64) -> bool {
    number as i64 == libc::SYS_sched_yield
}

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
        && (!is(COMMAND) || args[1] <= LAST_COMMAND || [LOCK_COMMAND, OTHER_COMMAND].contains(&args[1]))
        && (!is(IOCTL) || [libc::TCGETS, libc::TIOCGWINSZ, libc::FIONREAD].contains(&args[1]))
        && (!is(1 << MESSAGE) || args[4] == 0 && args[3] as u32 & !MESSAGE_FLAGS == 0)
        && (!is(1 << CONDITIONS) || meets_conditions(effects, args))
        && (!is(POLLS) || if is(1 << OUTPUT) { args[2] <= MOST_EVENTS } else { args[1] <= MOST_POLLED })
}

/// Of a call that has conditions of its own.
fn meets_conditions(effects: u64, args: &[u64; 6]) -> bool {
    match effects {
        masks if masks & 1 << MASKS != 0 => true,
        // Which memory is known elsewhere.
        protects if protects & 1 << PROTECTS != 0 => true,
        random if random & 1 << RANDOM != 0 => args[1] <= MOST_RANDOM,
        gathers if gathers & 1 << GATHERS != 0 => args[2] <= MOST_PIECES,
        traces if traces & 1 << TRACES != 0 => requests::is_taken(args[0]),
        waits if waits & 1 << CHILDREN != 0 => args[3] == 0,
        yields if yields & 1 << YIELDS != 0 => true,
        _ => args[1] as i32 & FUTEX_COMMAND == libc::FUTEX_WAKE,
    }
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
    match number {
        PROTECT => return [REMAP | 3 << 8 | number << 32, 1 << CONDITIONS | 1 << PROTECTS],
        SHOW => return [REMAP | 5 << 8 | number << 32, 1 << CONDITIONS | 1 << PROTECTS | 1 << SHOWS],
        _ => {}
    }
    let also = match number as i64 {
        libc::SYS_close => CLOSES,
        libc::SYS_dup2 | libc::SYS_dup3 => CLOSES | 1 << CLOSES_SECOND,
        libc::SYS_fcntl => COMMAND,
        libc::SYS_open | libc::SYS_openat => OPENS,
        libc::SYS_creat => OPENS | 1 << CREATES,
        libc::SYS_ioctl => IOCTL | NEEDS_FILE,
        known if ON_FILES.contains(&known) => NEEDS_FILE,
        known if MESSAGES.contains(&known) => NEEDS_FILE | 1 << MESSAGE,
        libc::SYS_rt_sigprocmask => 1 << CONDITIONS | 1 << MASKS,
        libc::SYS_getrandom => 1 << CONDITIONS | 1 << RANDOM,
        libc::SYS_futex => 1 << CONDITIONS,
        libc::SYS_sched_yield => 1 << CONDITIONS | 1 << YIELDS,
        libc::SYS_ptrace => 1 << CONDITIONS | 1 << TRACES,
        libc::SYS_wait4 => 1 << CONDITIONS | 1 << CHILDREN,
        known if POLLING.contains(&known) => POLLS,
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
        // The request says how many.
        ([], _) if row.number as i64 == libc::SYS_ptrace => fixed(3, 8),
        ([], _) => 0,
        ([Out::Bytes(at, Len::ResultUpTo(most))], false) => {
            READS | u64::from(*at) << OUTPUT | u64::from(*most) << ROOM_ARGUMENT
        }
        ([Out::Bytes(1, Len::ResultUpTo(2)), Out::Counted(4, 5)], false) => READS | 1 << OUTPUT | 2 << ROOM_ARGUMENT,
        // A signal mask has 8 bytes, or the call fails.
        ([Out::Bytes(2, Len::Arg(3))], false) if row.number as i64 == libc::SYS_rt_sigprocmask => fixed(2, 8),
        ([Out::Bytes(at, Len::Fixed(len))], false) => fixed(*at, *len),
        ([Out::Bytes(0, Len::Fixed(len)), Out::Bytes(1, _)], false) => fixed(0, *len) | SECOND_IS_NULL,
        // The other is null.
        ([Out::Bytes(1, Len::Fixed(len)), Out::Bytes(3, _)], false) if row.number as i64 == libc::SYS_wait4 => {
            fixed(1, *len)
        }
        ([Out::Bytes(0, Len::ArgTimes(1, 8))], true) => 0,
        ([Out::Bytes(1, Len::ResultTimesUpTo(12, 2))], false) => 1 << OUTPUT,
        _ => return None,
    };
    let read = match row.inputs {
        [] => 0,
        [In::Bytes(1, Len::Arg(2))] if written == 0 => WRITES,
        [In::Iovecs(1, 2)] if written == 0 => 1 << GATHERS | 1 << CONDITIONS,
        [In::Text(0)] => PATH,
        [In::Text(1)] => PATH | PATH_IS_SECOND,
        [In::Text(0), In::Text(1)] => PATH | TWO_PATHS,
        _ => return None,
    };
    Some(written | read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_call_is_taken() {
        const CONDITIONAL: &[i64] = &[
            libc::SYS_rt_sigprocmask,
            libc::SYS_getrandom,
            libc::SYS_futex,
            libc::SYS_ptrace,
            libc::SYS_wait4,
            libc::SYS_sched_yield,
        ];
        let others =
            &[libc::SYS_close, libc::SYS_dup2, libc::SYS_dup3, libc::SYS_creat, libc::SYS_fcntl, libc::SYS_ioctl];
        for number in ALWAYS
            .iter()
            .chain(ON_FILES)
            .chain(ON_PATHS)
            .chain(POLLING)
            .chain(MESSAGES)
            .chain(CONDITIONAL)
            .chain(others)
        {
            assert!(is_known(*number as u64), "{number}");
        }
        assert!(ON_FILES.iter().all(|&number| needs_file(number as u64)) && !needs_file(libc::SYS_lseek as u64));
        assert!(!is_known(libc::SYS_truncate as u64) && !is_known(libc::SYS_ppoll as u64) && !is_known(u64::MAX));
        let takes = |number: i64, args: [u64; 6]| is_taken(number as u64, &args);
        assert!(takes(libc::SYS_read, [0; 6]) && !takes(libc::SYS_read, [0, 0, u64::MAX, 0, 0, 0]));
        assert!(
            takes(libc::SYS_readlinkat, [0, 0, 0, 9, 0, 0]) && !takes(libc::SYS_readlinkat, [0, 0, 0, u64::MAX, 0, 0])
        );
        assert!(takes(libc::SYS_recvfrom, [3, 1, 4, libc::MSG_PEEK as u64, 0, 0]));
        assert!(!takes(libc::SYS_recvfrom, [3, 1, 4, libc::MSG_WAITALL as u64, 0, 0]));
        assert!(!takes(libc::SYS_sendto, [3, 1, 4, 0, 1, 16]));
        assert!(takes(libc::SYS_writev, [3, 1, 16, 0, 0, 0]) && !takes(libc::SYS_writev, [3, 1, 17, 0, 0, 0]));
        assert!(takes(libc::SYS_futex, [1, 0x81, 1, 0, 0, 0]) && !takes(libc::SYS_futex, [1, 0x80, 1, 0, 0, 0]));
        assert!(takes(libc::SYS_getrandom, [1, 256, 0, 0, 0, 0]) && !takes(libc::SYS_getrandom, [1, 257, 0, 0, 0, 0]));
        let command = |command: i32| takes(libc::SYS_fcntl, [3, command as u64, 0, 0, 0, 0]);
        assert!(command(libc::F_SETFL) && command(libc::F_DUPFD_CLOEXEC));
        assert!(
            command(libc::F_SETLK)
                && !command(libc::F_SETLKW)
                && !command(libc::F_GETLK)
                && !command(libc::F_SETLEASE)
                && !command(libc::F_OFD_SETLKW)
        );
    }

    #[test]
    fn what_may_wait_is_known() {
        let waits = [libc::SYS_poll, libc::SYS_recvfrom, libc::SYS_sched_yield, libc::SYS_wait4].map(|n| n as u64);
        let goes_on = [libc::SYS_getpid, libc::SYS_read, libc::SYS_futex, libc::SYS_clock_gettime].map(|n| n as u64);
        assert!(waits.into_iter().all(may_wait) && !goes_on.into_iter().any(may_wait));
    }

    #[test]
    fn entries_say_what_the_table_of_calls_says() {
        let head = |number: i64, arity: u64| SYSCALL | arity << 8 | (number as u64) << 32;
        assert_eq!(entry(libc::SYS_getppid as u64), [head(libc::SYS_getppid, 0), 0]);
        let clock = entry(libc::SYS_clock_gettime as u64);
        assert_eq!(clock, [head(libc::SYS_clock_gettime, 2), FIXED | 16 << 16 | 1 << OUTPUT]);
        let time = entry(libc::SYS_gettimeofday as u64);
        for number in [PROTECT, SHOW] {
            let row = row(number).filter(|row| row.class == Class::Repeat).unwrap();
            assert_eq!(entry(number)[0], REMAP | u64::from(row.arity) << 8 | number << 32);
        }
        assert_eq!(time[1], FIXED | 16 << 16 | SECOND_IS_NULL);
        assert_eq!(entry(libc::SYS_write as u64)[1], WRITES | NEEDS_FILE);
        assert_eq!(entry(libc::SYS_openat as u64)[1], PATH | PATH_IS_SECOND | OPENS);
        assert_eq!(entry(libc::SYS_statx as u64)[1], FIXED | 256 << 16 | 4 << OUTPUT | PATH | PATH_IS_SECOND);
        assert_eq!(entry(libc::SYS_readlink as u64)[1], READS | 1 << OUTPUT | 2 << ROOM_ARGUMENT | PATH);
        assert_eq!(entry(libc::SYS_fcntl as u64), [head(libc::SYS_fcntl, 3), COMMAND]);
        assert_eq!(entry(libc::SYS_rename as u64)[1], PATH | TWO_PATHS);
        assert_eq!(entry(libc::SYS_poll as u64), [head(libc::SYS_poll, 3), POLLS]);
        assert_eq!(entry(libc::SYS_epoll_wait as u64), [head(libc::SYS_epoll_wait, 4), POLLS | 1 << OUTPUT]);
    }

    #[test]
    fn the_known_requests_write_what_the_code_takes_them_to_write() {
        let here = machine::Here::new();
        let waits = |usage| is_taken(libc::SYS_wait4 as u64, &[0, 1, 0, usage, 0, 0]);
        assert!(waits(0) && !waits(1));
        for (request, len) in [(libc::TCGETS, 36), (libc::TIOCGWINSZ, 8), (libc::FIONREAD, 4)] {
            let rule = syscall_replay::table::lookup(libc::SYS_ioctl as u64, &[0, request, 0, 0, 0, 0], &here);
            assert!(matches!(rule.outputs, [Out::Bytes(2, Len::Fixed(n))] if *n == len), "{request:#x}");
            assert!(rule.class == Class::Replay && rule.row.is_some_and(|row| !row.always && row.inputs.is_empty()));
        }
    }
}
