//! Calls that write the app's memory by its file (`/proc/self/mem`), whatever its protection, or by the process's number. The engine is told
//! of neither by what is known about the call.

use syscall_replay::is_error;

use crate::ports::raw_syscall;
use crate::serial::calls::AppCall;

/// Whether the app may have the file of its memory open for writing.
#[derive(Default)]
pub struct SelfMem {
    is_open: bool,
}

impl SelfMem {
    /// The app has made a call that succeeded: takes note of that file. What the app's program had before an exec is the memory of the program that it was then.
    pub fn after(&mut self, call: &AppCall, result: u64) {
        let flags = match call.number as i64 {
            libc::SYS_open => call.args[1],
            libc::SYS_openat => call.args[2],
            // They are in memory, and it is rare.
            libc::SYS_openat2 => libc::O_RDWR as u64,
            _ => return,
        };
        self.is_open |= flags as i32 & libc::O_ACCMODE != libc::O_RDONLY && is_own_file(result, "mem");
    }

    /// Whether a call may write the app's memory in such a way.
    pub fn is_written_by(&self, call: &AppCall) -> bool {
        let descriptor = match call.number as i64 {
            libc::SYS_process_vm_writev => return call.args[0] as i32 == own_number(),
            _ if !self.is_open => return false,
            libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev | libc::SYS_pwritev | libc::SYS_pwritev2 => {
                call.args[0]
            }
            libc::SYS_sendfile => call.args[0],
            libc::SYS_copy_file_range | libc::SYS_splice => call.args[2],
            _ => return false,
        };
        is_own_file(descriptor, "mem")
    }
}

/// Whether the descriptor is `/proc/<this process>/<name>` or the same of one of its threads.
pub fn is_own_file(fd: u64, name: &str) -> bool {
    let link = format!("/proc/thread-self/fd/{}\0", fd as i32);
    let mut target = [0; 128];
    let args = [link.as_ptr() as u64, target.as_mut_ptr() as u64, target.len() as u64, 0, 0, 0];
    let len = raw_syscall(libc::SYS_readlink as u64, args);
    if is_error(len) {
        return false;
    }
    let me = own_number();
    let target = str::from_utf8(&target[..len as usize]).unwrap_or_default();
    let of_process = target.strip_prefix(&format!("/proc/{me}/"));
    let of_thread = of_process.and_then(|path| path.strip_prefix("task/")?.split_once('/'));
    of_process == Some(name) || of_thread.is_some_and(|(_, path)| path == name)
}

fn own_number() -> i32 {
    raw_syscall(libc::SYS_getpid as u64, [0; 6]) as i32
}
