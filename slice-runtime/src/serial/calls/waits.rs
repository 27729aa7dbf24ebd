//! Which calls a thread makes without giving others its turn.

use std::sync::atomic::{AtomicU8, Ordering};

use super::call::AppCall;

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// It never waits for anybody: made with the turn.
    Instant,
    /// As a rule it doesn't last.
    Short,
    /// It waits for something that others do, or for time to pass.
    Long,
}

/// What is known of a call.
pub fn length_of(call: &AppCall) -> Length {
    match call.number as i64 {
        libc::SYS_futex => of_futex(call.args[1] as i32),
        libc::SYS_poll
        | libc::SYS_ppoll
        | libc::SYS_select
        | libc::SYS_pselect6
        | libc::SYS_epoll_wait
        | libc::SYS_epoll_pwait
        | libc::SYS_epoll_pwait2
        | libc::SYS_nanosleep
        | libc::SYS_clock_nanosleep
        | libc::SYS_pause
        | libc::SYS_rt_sigsuspend
        | libc::SYS_rt_sigtimedwait
        | libc::SYS_wait4
        | libc::SYS_waitid
        | libc::SYS_accept
        | libc::SYS_accept4
        | libc::SYS_sched_yield => Length::Long,
        libc::SYS_getpid
        | libc::SYS_gettid
        | libc::SYS_getppid
        | libc::SYS_getuid
        | libc::SYS_geteuid
        | libc::SYS_getgid
        | libc::SYS_getegid
        | libc::SYS_clock_gettime
        | libc::SYS_clock_getres
        | libc::SYS_gettimeofday
        | libc::SYS_time
        | libc::SYS_times
        | libc::SYS_getrusage
        | libc::SYS_getcpu
        | libc::SYS_sched_getaffinity
        | libc::SYS_sched_setaffinity
        | libc::SYS_set_robust_list
        | libc::SYS_set_tid_address
        | libc::SYS_prctl
        | libc::SYS_kill
        | libc::SYS_tkill
        | libc::SYS_tgkill
        | libc::SYS_rt_sigqueueinfo
        | libc::SYS_rt_tgsigqueueinfo
        | libc::SYS_rt_sigpending
        | libc::SYS_timer_settime
        | libc::SYS_timer_gettime
        | libc::SYS_setitimer
        | libc::SYS_membarrier => Length::Instant,
        _ => Length::Short,
    }
}

/// Calls that lasted although most of their kind are short: a read of a pipe, say, which nobody has written to. They are known by
/// their numbers and first arguments.
pub struct LastingCall {
    /// How many more of them are taken for long ones; then one is tried again.
    left: [AtomicU8; 64],
}

impl LastingCall {
    const TAKEN_FOR_LONG: u8 = 64;

    /// None has.
    pub const fn new() -> Self {
        Self { left: [const { AtomicU8::new(0) }; 64] }
    }

    fn of(&self, call: &AppCall) -> &AtomicU8 {
        let mixed = (call.number << 32 ^ call.args[0]).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.left[(mixed >> 58) as usize]
    }

    /// The call has lasted.
    pub fn note(&self, call: &AppCall) {
        self.of(call).store(Self::TAKEN_FOR_LONG, Ordering::Relaxed);
    }

    /// Whether the call is likely to last.
    pub fn expects(&self, call: &AppCall) -> bool {
        let left = self.of(call);
        let before = left.load(Ordering::Relaxed);
        left.store(before.saturating_sub(1), Ordering::Relaxed);
        before > 0
    }
}

fn of_futex(operation: i32) -> Length {
    const LOCK_PI2: i32 = 13;
    match operation & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME) {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET | libc::FUTEX_WAIT_REQUEUE_PI | libc::FUTEX_LOCK_PI | LOCK_PI2 => {
            Length::Long
        }
        _ => Length::Instant,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_lasted_is_expected_to_for_a_while() {
        let read = |fd: u64| AppCall { number: libc::SYS_read as u64, args: [fd, 0, 0, 0, 0, 0] };
        let lasting = LastingCall::new();
        assert!(!lasting.expects(&read(3)));
        lasting.note(&read(3));
        let expected = (0..200).take_while(|_| lasting.expects(&read(3))).count();
        assert_eq!(expected, usize::from(LastingCall::TAKEN_FOR_LONG));
        assert!(!lasting.expects(&read(4)));
    }

    #[test]
    fn a_futex_may_wait_or_wake() {
        let futex = |operation: i32| {
            length_of(&AppCall { number: libc::SYS_futex as u64, args: [0, operation as u64, 0, 0, 0, 0] })
        };
        assert_eq!(futex(libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG), Length::Long);
        assert_eq!(futex(libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG), Length::Instant);
        assert_eq!(futex(libc::FUTEX_WAIT_BITSET | libc::FUTEX_CLOCK_REALTIME), Length::Long);
    }
}
