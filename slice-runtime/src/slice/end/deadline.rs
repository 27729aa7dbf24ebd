//! How long a slice may run.
//!
//! A slice that waits for memory which another process writes, or that has missed its end and makes no system call, would go on for
//! ever. So the control process gives each a bound on its CPU time, a large multiple of what the master used. When it is
//! over the engine is interrupted and the slice fails with a message; should the engine not come to that, the kernel ends
//! the process a while later.

use std::time::Duration;

use super::interruption;
use crate::ports::cpu_time;

/// Time that the slice has for its message.
const LEEWAY: Duration = Duration::from_secs(5);

/// To be called when the engine was interrupted: the CPU time that was used, if it is too much. The timer counts in ticks of
/// the kernel's, and may be early.
pub fn is_over(bound: Duration) -> Option<Duration> {
    const TICK: Duration = Duration::from_millis(10);
    let used = cpu_time();
    if bound.is_zero() {
        return None;
    }
    if used < bound {
        let _ = interruption::after(bound - used + TICK);
        return None;
    }
    Some(used)
}

/// Sets the bound, unless it is zero. Without a timer the kernel's own is left.
pub fn set(bound: Duration) {
    if bound.is_zero() {
        return;
    }
    let _ = interruption::after(bound);
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place and then a valid limit. Where the app may use less time, so may the slice.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_CPU, &raw mut limit) == 0 {
            limit.rlim_max = limit.rlim_max.min((2 * bound + LEEWAY).as_secs());
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_CPU, &raw const limit);
        }
    }
}
