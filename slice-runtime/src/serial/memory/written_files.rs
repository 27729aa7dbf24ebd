//! Files that the app may write. Pages of a private mapping that it hasn't written to itself show what the file has at that moment, and if
//! that is code, then the engine must know.

use std::fs::read_dir;

use syscall_replay::is_error;

use crate::ports::raw_syscall;
use crate::serial::calls::AppCall;

/// The inode of the file that a call, which has succeeded with this result, has opened for writing.
pub fn opened_by(call: &AppCall, result: u64) -> Option<u64> {
    let flags = match call.number as i64 {
        libc::SYS_open => call.args[1],
        libc::SYS_openat | libc::SYS_open_by_handle_at => call.args[2],
        // Those of the second are in memory, and it is rare.
        libc::SYS_creat | libc::SYS_openat2 | libc::SYS_memfd_create => libc::O_RDWR as u64,
        _ => return None,
    };
    if is_for_writing(flags) { regular_file(result) } else { None }
}

/// The inodes of files that were open for writing when the program started.
pub fn open_at_start() -> Vec<u64> {
    let entries = read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let descriptors = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_written = |fd: &u64| {
        let flags = raw_syscall(libc::SYS_fcntl as u64, [*fd, libc::F_GETFL as u64, 0, 0, 0, 0]);
        !is_error(flags) && is_for_writing(flags)
    };
    descriptors.filter(is_written).filter_map(regular_file).collect()
}

fn is_for_writing(flags: u64) -> bool {
    flags as i32 & libc::O_ACCMODE != libc::O_RDONLY && flags as i32 & libc::O_PATH == 0
}

/// The inode of what a descriptor leads to, if that is a file with contents.
fn regular_file(fd: u64) -> Option<u64> {
    // SAFETY: the structure is plain data, for which zero is a value.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    let result = raw_syscall(libc::SYS_fstat as u64, [fd, (&raw mut stat) as u64, 0, 0, 0, 0]);
    (!is_error(result) && stat.st_mode & libc::S_IFMT == libc::S_IFREG).then_some(stat.st_ino)
}
