//! How much CPU time processes have used.

use std::io;
use std::time::Duration;

use super::error::Failure;

/// The CPU clock of a process.
///
/// # Errors
/// If the process is gone.
pub fn cpu_clock(pid: i32) -> Result<libc::clockid_t, Failure> {
    let mut clock = 0;
    // SAFETY: `clock` is a valid place.
    match unsafe { libc::clock_getcpuclockid(pid, &mut clock) } {
        0 => Ok(clock),
        error => {
            Err(Failure::System { action: "read the app's CPU clock", source: io::Error::from_raw_os_error(error) })
        }
    }
}

/// What a clock shows. `None` if it is a process's that is gone.
pub fn reading(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place.
    let outcome = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (outcome == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}
