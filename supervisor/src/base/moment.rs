//! Points in time, without the time stamp counter.
//!
//! The master's `rdtsc` traps, and so does this process's while it and the master take turns
//! ([`super::affinity`]). The standard library's clocks read that counter in user mode; this one asks the kernel.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

static TRAPPED: AtomicBool = AtomicBool::new(false);

/// Makes reading the time stamp counter trap in this process, or not: it is then a fault, so only [`with_counter`] may do it.
pub fn trap_counter(trap: bool) {
    if TRAPPED.swap(trap, Ordering::Relaxed) != trap {
        let how = if trap { libc::PR_TSC_SIGSEGV } else { libc::PR_TSC_ENABLE };
        // SAFETY: prctl takes no pointer here. It fails only on kernels that can't trap the counter.
        unsafe { libc::prctl(libc::PR_SET_TSC, how) };
    }
}

/// Does something that reads the counter.
pub fn with_counter<T>(read: impl FnOnce() -> T) -> T {
    let trapped = TRAPPED.load(Ordering::Relaxed);
    trap_counter(false);
    let result = read();
    trap_counter(trapped);
    result
}

/// Nanoseconds since 1970, as files have them.
pub fn since_1970() -> i64 {
    i64::try_from(told(libc::CLOCK_REALTIME).as_nanos()).unwrap_or(0)
}

/// What a clock of the kernel's says.
fn told(clock: libc::clockid_t) -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer. The system call itself, since libc's function reads the counter.
    unsafe { libc::syscall(libc::SYS_clock_gettime, clock, &raw mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A point in time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Moment(Duration);

impl Moment {
    /// Now.
    pub fn now() -> Self {
        Self(told(libc::CLOCK_MONOTONIC))
    }

    /// When the kernel's monotonic clock shows so many nanoseconds.
    pub fn at_nanoseconds(nanoseconds: u64) -> Self {
        Self(Duration::from_nanos(nanoseconds))
    }

    /// Nanoseconds on the kernel's monotonic clock.
    pub fn nanoseconds(self) -> u64 {
        self.0.as_nanos() as u64
    }

    /// Time from `earlier` to this one; zero if it isn't earlier.
    pub fn since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// Time that has passed.
    pub fn elapsed(self) -> Duration {
        Self::now().since(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes() {
        let moment = Moment::now();
        std::thread::sleep(Duration::from_millis(2));
        assert!(moment.elapsed() >= Duration::from_millis(2));
        assert_eq!(moment.since(Moment::now()), Duration::ZERO);
        let again = Moment::at_nanoseconds(moment.nanoseconds());
        assert_eq!((moment.since(again), again.since(moment)), (Duration::ZERO, Duration::ZERO));
    }
}
