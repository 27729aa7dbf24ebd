//! Interruptions of a run: by a timer, or at chosen instructions.

use std::sync::atomic::AtomicU64;

/// How often a program was interrupted.
pub static INTERRUPTIONS: AtomicU64 = AtomicU64::new(0);

/// A timer that interrupts this thread.
pub struct Timer(libc::timer_t);

impl Timer {
    /// One for this thread; its handler tells the engine.
    pub fn new() -> Timer {
        engine::on_signal(|_, _, _| {
            engine::interrupt();
            true
        });
        engine::install_signal(libc::SIGALRM, libc::SA_RESTART).expect("a handler can be set");
        let mut timer = std::ptr::null_mut();
        // SAFETY: sigevent is plain data for which zero is valid; the pointers are valid.
        unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGALRM;
            event.sigev_notify_thread_id = libc::gettid();
            assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer), 0);
        }
        Timer(timer)
    }

    /// Goes off once after so many nanoseconds; never if 0.
    pub fn set(&self, nanoseconds: i64) {
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value =
            libc::itimerspec { it_interval: zero, it_value: libc::timespec { tv_sec: 0, tv_nsec: nanoseconds } };
        // SAFETY: a valid timer and value.
        assert_eq!(unsafe { libc::timer_settime(self.0, 0, &raw const value, std::ptr::null_mut()) }, 0);
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: made by `new`.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// How a run is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruptions {
    No,
    /// Once, after so many nanoseconds.
    After(u64),
    /// At instructions of translated code that the seed chooses.
    Steps(u64),
}

impl Interruptions {
    /// Words that the buffer has room for at first: often it is full in mid-program.
    pub fn room(self) -> u64 {
        match self {
            Interruptions::No => 0,
            Interruptions::After(number) | Interruptions::Steps(number) => number % 61,
        }
    }
}
