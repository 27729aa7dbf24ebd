//! Ends the holding back of signals that the runtime of a serial run has begun because they came all the time: what is done there is told in
//! `slice_runtime::serial::signals::throttle`.

use std::time::Duration;

use bubble::shared::held;
use tracee::{Mode, Running, Stop, Stopped, TraceError};

use crate::base::Failure;
use crate::events::{Alarm, Purpose};
use crate::run_memory::ClaimedSlot;

/// How long signals are held back: as long as it takes to let a few of them in.
const LEAST: Duration = Duration::from_micros(250);
/// After a signal it is looked again and again whether some are held back, each time after so many times the last time,
const FACTOR: u32 = 16;
/// up to here. The runtime holds none back that long after one.
const LONGEST: Duration = Duration::from_secs(1);

/// Looks after it.
#[derive(Default)]
pub struct Throttle {
    alarm: Alarm,
    next: Duration,
    /// The app is to stop at the entry of its next call.
    goes_to_call: bool,
}

impl Throttle {
    /// # Errors
    /// If the kernel has no timers left.
    pub fn new(pid: i32) -> Result<Self, Failure> {
        Ok(Self { alarm: Alarm::new(libc::CLOCK_MONOTONIC, Purpose::Throttle, pid)?, next: LEAST, goes_to_call: false })
    }

    /// A signal is delivered.
    fn signal_comes(&mut self) {
        self.next = LEAST;
        self.alarm.set(self.next);
    }

    /// It is time to look. An app that holds signals back is interrupted.
    pub fn look(&mut self, app: Option<&Running>, slot: Option<&ClaimedSlot>) {
        self.next *= FACTOR;
        if self.next <= LONGEST {
            self.alarm.set(self.next);
        }
        if slot.is_some_and(|slot| slot.held().0 == held::BACK) {
            // An error means that it has ended.
            app.into_iter().for_each(|app| drop(app.interrupt()));
        }
    }
}

impl Throttle {
    /// The app has stopped. Whether that is all that the stop is for.
    ///
    /// # Errors
    /// If it was killed.
    pub fn stopped(&mut self, app: &mut Stopped, stop: &Stop, slot: &ClaimedSlot) -> Result<bool, TraceError> {
        let (held, mask) = slot.held();
        match stop {
            Stop::Signal(info) if info.si_signo == libc::SIGTRAP && held == held::UNTIL_CALL => {
                self.goes_to_call = true;
                return Ok(true);
            }
            Stop::Signal(_) => self.signal_comes(),
            Stop::Interrupted if held == held::BACK => let_in(app, mask, slot)?,
            Stop::SyscallEntry { .. } if std::mem::take(&mut self.goes_to_call) => let_in(app, mask, slot)?,
            _ => {}
        }
        Ok(false)
    }

    /// Until when the app goes on.
    pub fn mode(&self) -> Mode {
        if self.goes_to_call { Mode::Syscalls } else { Mode::Free }
    }
}

fn let_in(app: &mut Stopped, mask: u64, slot: &ClaimedSlot) -> Result<(), TraceError> {
    app.set_signal_mask(mask)?;
    slot.let_in();
    Ok(())
}
