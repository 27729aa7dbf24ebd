//! Signals can come faster than slices can start. Then the app would only ever enter handlers.
//!
//! A handled signal that ends a slice stops the master for some hundred microseconds, and one that is recorded for a part of that. With a timer of 100 us the next signal is there before
//! the master has executed an instruction. So after such a boundary the master first runs for as long as the boundary took, half a millisecond at
//! least (a quarter of the time, and 30 us, where the signal came behind a call; a quarter of a millisecond, where it needed no boundary either). During that time its signals are blocked; the kernel keeps them.
//!
//! ```text
//!     signal → boundary (700 us) → 700 us of the app, blocked → signal → …
//! ```
//!
//! Can the app tell? Not by its own code: a signal may always be late. It could by calls ("kill has returned, but my handler hasn't run"). So
//! nothing is blocked inside a call, and pending signals are let through when one returns.
//! While the master stands still its mask is the app's.

use std::time::Duration;

use machine::Memory as _;
use tracee::{Stopped, TraceError};

use crate::app::{PendingSignals, SignalStatus};
use crate::base::Failure;
use crate::events::{Alarm, Purpose};
use crate::sliced::boundaries::{cpu_clock, reading};

/// The least CPU time between two boundaries at signals.
const LEAST: Duration = Duration::from_micros(500);
/// The same after a signal that was delivered behind a call: without a boundary.
const LEAST_BEHIND_CALL: Duration = Duration::from_micros(30);

/// The same after one in the midst of the app's code that needed no boundary: a slice has to look for the place.
const LEAST_AT_POINT: Duration = Duration::from_micros(250);

const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// What instructions raise, which kills where it is blocked, and what stops a process and has it go on.
const NEVER: u64 = bit(libc::SIGSEGV)
    | bit(libc::SIGBUS)
    | bit(libc::SIGILL)
    | bit(libc::SIGFPE)
    | bit(libc::SIGTRAP)
    | bit(libc::SIGSYS)
    | bit(libc::SIGKILL)
    | bit(libc::SIGSTOP)
    | bit(libc::SIGCONT)
    | bit(libc::SIGTSTP)
    | bit(libc::SIGTTIN)
    | bit(libc::SIGTTOU);

/// What the master has just left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sliced) enum Leaves {
    /// Code of its own.
    Code,
    /// What it had left at the stop before, as far as anybody knows: it was interrupted, or another signal has come first.
    TheSame,
    /// A call whose result may tell it that a signal has been sent.
    Call,
    /// A handler, in which it may have sent itself one that was blocked there: that comes before anything else.
    Handler,
    /// A call that a signal has broken off. If it waits with a mask of its own (`sigsuspend`, `ppoll`), the signal is blocked in the mask that a tracer
    /// is shown; held back it would break off the call again, and again.
    BrokenOffCall,
}

/// Whether signals of the master are held back.
pub(in crate::sliced) struct Throttle {
    pid: i32,
    status: SignalStatus,
    clock: libc::clockid_t,
    alarm: Alarm,
    /// It will ring, not later than they are to be let through.
    is_alarm_set: bool,
    /// The next boundary is one after which they are.
    begins: bool,
    /// On the master's CPU clock.
    until: Option<Duration>,
    /// A handler is about to begin.
    has_delivered: bool,
    /// All of that time is left: it has begun at the stop at hand.
    whole: Option<Duration>,
    /// The app's mask, while it isn't the master's.
    mask: Option<u64>,
    /// When a signal was delivered last without a boundary in the midst of the app's code, on that clock.
    last_point: Option<Duration>,
    /// Some are to be delivered first: until one was, or the master has executed something.
    lets_through: bool,
}

impl Throttle {
    /// Nothing is held back, or can be.
    pub(in crate::sliced) fn none(pid: i32) -> Self {
        let (status, alarm) = (SignalStatus::new(pid), Alarm::default());
        Self {
            pid,
            status,
            clock: 0,
            alarm,
            is_alarm_set: false,
            begins: false,
            until: None,
            has_delivered: false,
            whole: None,
            mask: None,
            last_point: None,
            lets_through: false,
        }
    }

    /// Of a thread of process `pid`, which is `tid`: its alarm is made when it is needed.
    pub(in crate::sliced) fn of_thread(pid: i32, tid: i32) -> Self {
        Self { status: SignalStatus::new(tid), clock: cpu_clock(pid).unwrap_or(0), ..Self::none(pid) }
    }

    /// The thread has another number: it has become the process's only one.
    pub(super) fn is_renamed(&mut self, tid: i32) {
        self.status = SignalStatus::new(tid);
    }

    /// The process.
    pub(in crate::sliced) fn pid(&self) -> i32 {
        self.pid
    }

    /// What is known of the process's signals.
    pub(in crate::sliced) fn status(&self) -> &SignalStatus {
        &self.status
    }

    /// # Errors
    /// If the process is gone or the kernel has no timers left.
    pub(in crate::sliced) fn new(pid: i32) -> Result<Self, Failure> {
        let alarm = Alarm::new(libc::CLOCK_MONOTONIC, Purpose::Throttle, pid)?;
        Ok(Self { clock: cpu_clock(pid)?, alarm, ..Self::none(pid) })
    }

    /// The boundary at hand is at a signal that nobody but its sender has timed.
    pub(in crate::sliced) fn expect(&mut self) {
        self.begins = true;
    }

    /// A boundary is done that has held the master up for so long.
    pub(in crate::sliced) fn after_boundary(&mut self, held_up: Duration) {
        if std::mem::take(&mut self.begins) {
            self.hold_back(held_up.max(LEAST));
            self.has_delivered = true;
        }
    }

    /// A signal waits until an instruction that repeats has ended. Others are held back meanwhile: each of them stops the instruction, and it might never get on.
    pub(in crate::sliced) fn lets_get_on(&mut self) {
        self.hold_back(LEAST);
    }

    /// A signal was delivered without a boundary: that has held the master up, too, but it has got on by a call.
    pub(in crate::sliced) fn after_delivery(&mut self, held_up: Duration) {
        self.hold_back((held_up / 4).max(LEAST_BEHIND_CALL));
        self.has_delivered = true;
    }

    /// A signal was delivered in the midst of the app's code, without a boundary. The next ones are held back if the app has got on by little since the last of these.
    pub(in crate::sliced) fn after_point(&mut self, held_up: Duration) {
        let least = held_up.max(LEAST_AT_POINT);
        let now = reading(self.clock);
        let since = now.zip(self.last_point).map(|(now, last)| now.saturating_sub(last));
        self.last_point = now;
        if since.is_some_and(|since| since < least) {
            self.hold_back(least);
            self.has_delivered = true;
        }
    }

    /// An alarm that is set already rings earlier, and looks again.
    fn hold_back(&mut self, time: Duration) {
        if self.alarm.is_none() {
            // Without one they are let through at the next stop.
            self.alarm = Alarm::new(libc::CLOCK_MONOTONIC, Purpose::Throttle, self.pid).unwrap_or_default();
        }
        self.lets_through = false;
        self.until = reading(self.clock).map(|now| now + time);
        self.whole = Some(time);
    }

    /// Whether signals are held back, or will be when the master goes on.
    pub(in crate::sliced) fn is_on(&self) -> bool {
        self.until.is_some()
    }

    /// The alarm has rung: whether they are at the moment, and have been for long enough. Looks again later if not for long enough.
    pub(in crate::sliced) fn is_over(&mut self) -> bool {
        self.is_alarm_set = false;
        self.mask.is_some() && self.left().is_none()
    }

    /// CPU time for which they are still held back.
    fn left(&mut self) -> Option<Duration> {
        let until = self.until?;
        let left = match self.whole.take() {
            None => until.checked_sub(reading(self.clock)?).filter(|left| !left.is_zero()),
            whole => whole,
        };
        match left {
            Some(_) if self.is_alarm_set => {}
            Some(left) => {
                self.alarm.set(left);
                self.is_alarm_set = true;
            }
            None => self.until = None,
        }
        left
    }

    /// The master has come to a stop.
    ///
    /// # Errors
    /// If it was killed.
    pub(in crate::sliced) fn stopped(&mut self, master: &mut Stopped, leaves: Leaves) -> Result<(), TraceError> {
        (self.whole, self.has_delivered) = (None, false);
        if let Some(mask) = self.mask.take() {
            master.set_signal_mask(mask)?;
        }
        self.lets_through = self.is_on() && self.comes_first(master, leaves)?;
        Ok(())
    }

    /// Whether a signal comes before the master executes anything, though signals are held back.
    fn comes_first(&self, master: &Stopped, leaves: Leaves) -> Result<bool, TraceError> {
        let waits = |is_meant: &dyn Fn(&libc::siginfo_t) -> bool| waits(master, is_meant);
        Ok(match leaves {
            Leaves::Code => false,
            Leaves::TheSame => self.lets_through,
            Leaves::BrokenOffCall => true,
            Leaves::Call if waits(&|_| true)? => true,
            // There are no descriptions of those for which the kernel had no room.
            Leaves::Call => match self.status.pending().map(PendingSignals::any) {
                Some(pending) => pending != 0 && pending & !(master.signal_mask()? | NEVER) != 0,
                None => true,
            },
            Leaves::Handler => waits(&|info| self.is_own(info))?,
        })
    }

    /// The master, which stands still, would go on without stops: then its signals are held back no longer, unless one waits, or it is about to stop all the same. A timer
    /// that is set and unset at once ticks in between only because of stops.
    ///
    /// # Errors
    /// If it was killed.
    pub(in crate::sliced) fn ends_if_free(&mut self, master: &Stopped) -> Result<(), TraceError> {
        if self.is_on() && !self.has_delivered && !is_before_call(master)? && !waits(master, &|_| true)? {
            (self.until, self.whole, self.lets_through) = (None, None, false);
        }
        Ok(())
    }

    /// Whether the master has sent itself a signal.
    fn is_own(&self, info: &libc::siginfo_t) -> bool {
        let is_sent = [libc::SI_USER, libc::SI_QUEUE, libc::SI_TKILL].contains(&info.si_code);
        // SAFETY: with these codes there is a sender.
        is_sent && unsafe { info.si_pid() } == self.pid
    }

    /// The master is about to execute code of its own.
    ///
    /// # Errors
    /// If it was killed.
    pub(in crate::sliced) fn goes_on(&mut self, master: &mut Stopped) -> Result<(), TraceError> {
        if self.lets_through || self.left().is_none() {
            return Ok(());
        }
        let mask = master.signal_mask()?;
        master.set_signal_mask(mask | !NEVER)?;
        self.mask = Some(mask);
        Ok(())
    }
}

/// Whether a signal of such a kind waits for the master, which stands still, and would be held back.
fn waits(master: &Stopped, is_meant: &dyn Fn(&libc::siginfo_t) -> bool) -> Result<bool, TraceError> {
    let waiting = master.waiting_signals()?;
    let meant = waiting.iter().filter(|info| is_meant(info)).fold(0, |all, info| all | bit(info.si_signo));
    Ok(meant != 0 && meant & !(master.signal_mask()? | NEVER) != 0)
}

/// Whether the next instruction is a system call: what a handler has returned to, if the call was broken off or not begun.
fn is_before_call(master: &Stopped) -> Result<bool, TraceError> {
    const SYSCALL: [u8; 2] = [0x0f, 0x05];
    let mut code = [0; SYSCALL.len()];
    Ok(master.read(master.registers()?.app().rip, &mut code).is_ok() && code == SYSCALL)
}
