//! What superpin needs of the place where it is started, asked for before anything else is done.

use std::io;
use std::path::Path;
use std::time::Duration;

use machine::Status;

use crate::base::Failure;

const IN_CONTAINER: &str =
    "it must be allowed, for instance `--cap-add=SYS_PTRACE` or another `--security-opt seccomp=...` in a container";

/// How long a process may take to stop that is to be attached to.
pub const PATIENCE: Duration = Duration::from_secs(5);

/// Looks whether all is there.
///
/// # Errors
/// What is missing, and what helps.
pub fn check() -> Result<(), Failure> {
    proc_is_ours()?;
    calls_are_allowed()
}

/// Whether /proc tells of this process.
fn proc_is_ours() -> Result<(), Failure> {
    let own = std::process::id();
    let told = std::fs::read_link("/proc/self").ok();
    if told.as_ref().and_then(|number| number.to_str()) == Some(&own.to_string()) {
        return Ok(());
    }
    Err(Failure::Unsupported(if told.is_none() && !Path::new("/proc/version").exists() {
        "there is no /proc here, which superpin needs: `mount -t proc proc /proc`".into()
    } else {
        "the /proc here is that of another PID namespace: mount its own there (`unshare --mount-proc`)".into()
    }))
}

/// Calls that filters of containers forbid by chance. The others that superpin needs are named where they fail.
fn calls_are_allowed() -> Result<(), Failure> {
    let (from, mut to) = ([1_u8], [0_u8]);
    let local = libc::iovec { iov_base: to.as_mut_ptr().cast(), iov_len: 1 };
    let remote = libc::iovec { iov_base: from.as_ptr().cast_mut().cast(), iov_len: 1 };
    let mut signal = 0_i32;
    // SAFETY: the first reads from this process, between two bytes that live here; the second writes the signal's number.
    let results = unsafe {
        [
            ("process_vm_readv", libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0)),
            ("prctl", libc::prctl(libc::PR_GET_PDEATHSIG, &raw mut signal) as isize),
        ]
    };
    match results.into_iter().find(|(_, result)| *result < 0) {
        Some((call, _)) => {
            let error = io::Error::last_os_error();
            Err(Failure::Unsupported(format!("the system call {call} is refused here ({error}): {IN_CONTAINER}")))
        }
        None => Ok(()),
    }
}

/// Who traces this process, and what it starts: number and name.
pub fn tracer() -> Option<String> {
    let pid: u32 = Status::of("self").ok()?.number("TracerPid").filter(|pid| *pid != 0)?;
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(format!("process {pid} ({})", name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_has_all_that_is_needed() {
        check().unwrap();
    }
}
