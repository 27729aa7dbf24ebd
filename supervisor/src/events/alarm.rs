//! Timers by which the control process is woken.

use std::ptr;
use std::time::Duration;

use super::events::{Purpose, TIMER_SIGNAL};
use crate::base::Failure;

/// A timer of the kernel's, or none yet.
#[derive(Default)]
pub struct Alarm(Option<libc::timer_t>);

impl Alarm {
    /// A timer on that clock that isn't set yet, about a process.
    ///
    /// # Errors
    /// If the kernel has no timers left, or no such clock.
    pub fn new(clock: libc::clockid_t, purpose: Purpose, process: i32) -> Result<Self, Failure> {
        // SAFETY: the structure is plain data, for which zero is a value.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_SIGNAL;
        event.sigev_signo = TIMER_SIGNAL;
        event.sigev_value = libc::sigval { sival_ptr: purpose.value(process) as *mut libc::c_void };
        let mut id: libc::timer_t = ptr::null_mut();
        // SAFETY: both pointers are valid.
        if unsafe { libc::timer_create(clock, &mut event, &mut id) } != 0 {
            return Err(Failure::last("create a timer"));
        }
        Ok(Self(Some(id)))
    }

    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// Sends the signal once, after so much more time. An earlier setting is forgotten.
    pub fn set(&self, time: Duration) {
        let time = libc::timespec { tv_sec: time.as_secs() as i64, tv_nsec: time.subsec_nanos().into() };
        let once = libc::itimerspec { it_interval: libc::timespec { tv_sec: 0, tv_nsec: 0 }, it_value: time };
        // SAFETY: the timer exists, `once` is valid. It fails only if the master is gone, when it isn't needed any more.
        self.0.map(|id| unsafe { libc::timer_settime(id, 0, &once, ptr::null_mut()) });
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        // SAFETY: the timer exists and is not used any more.
        self.0.map(|id| unsafe { libc::timer_delete(id) });
    }
}
