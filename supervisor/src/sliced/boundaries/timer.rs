//! The slice timer: a signal to the control process when the master has used so much CPU time, without what [`super::copy_on_write`] leaves out.
//!
//! The master's CPU clock and not the wall clock: a master that waits for input or for a CPU makes no progress that
//! would be worth a slice, and one that sleeps in a system call need not be woken.

use std::io;
use std::time::Duration;

use super::copy_on_write::CpuUsage;
use crate::base::Failure;
use crate::events::{Alarm, Purpose};

/// CPU time in which a program was linked and has looked at the processor, boundaries in between included.
const LINKING_TIME: Duration = Duration::from_millis(50);

/// The CPU clock of a process.
///
/// # Errors
/// If the process is gone.
pub(in crate::sliced) fn cpu_clock(pid: i32) -> Result<libc::clockid_t, Failure> {
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
pub(in crate::sliced) fn reading(clock: libc::clockid_t) -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place.
    let outcome = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (outcome == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

/// A timer on one process's CPU clock, or none yet.
#[derive(Default)]
pub struct Timer {
    alarm: Alarm,
    clock: libc::clockid_t,
    /// What it had used when the present slice began.
    before: Duration,
    /// What it had used when the present program was loaded.
    at_exec: Duration,
    pid: i32,
    /// How long a slice is to work.
    wanted: Duration,
    /// Where the present one began.
    start: CpuUsage,
}

impl Timer {
    /// A timer that isn't set yet.
    ///
    /// # Errors
    /// If the process is gone or the kernel has no timers left.
    pub fn new(pid: i32) -> Result<Self, Failure> {
        let clock = cpu_clock(pid)?;
        let alarm = Alarm::new(clock, Purpose::Slice, pid)?;
        Ok(Self { alarm, clock, pid, ..Self::default() })
    }

    /// CPU time since the last call, or the process's start. `None` if the process is gone.
    pub fn used(&mut self) -> Option<Duration> {
        let now = self.now()?;
        Some(now.saturating_sub(std::mem::replace(&mut self.before, now)))
    }

    /// A new program was loaded.
    pub fn image_begins(&mut self) {
        self.at_exec = self.now().unwrap_or_default();
    }

    /// Whether the program may still be about to be linked and to look at the processor.
    pub fn is_image_young(&self) -> bool {
        self.now().is_some_and(|now| now.saturating_sub(self.at_exec) < LINKING_TIME)
    }

    fn now(&self) -> Option<Duration> {
        reading(self.clock)
    }

    /// Sends the signal once, after so much more of the master's CPU time. An earlier setting is forgotten.
    pub fn set(&self, time: Duration) {
        self.alarm.set(time);
    }

    /// A slice begins that is to work for so long. The signal is sent when it may have done that. Gives what the one before has spent at most on copying pages.
    pub fn slice_begins(&mut self, wanted: Duration) -> Duration {
        self.wanted = wanted;
        let usage = self.usage();
        let before = std::mem::replace(&mut self.start, usage);
        self.set(wanted);
        usage.most_copying(before)
    }

    /// The signal has come. Whether the slice's time is over; otherwise there will be another signal.
    pub fn is_over(&self) -> bool {
        let more = self.usage().still_wanted(self.start, self.wanted);
        more.into_iter().for_each(|more| self.set(more));
        more.is_none()
    }

    fn usage(&self) -> CpuUsage {
        CpuUsage::of(self.pid, self.now().unwrap_or_default())
    }
}
