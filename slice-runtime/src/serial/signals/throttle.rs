//! Signals that come faster than they can be let in: the app gets on all the same.
//!
//! When a handler returns, the kernel delivers what has come meanwhile before another instruction. Natively a handler takes a microsecond, here twenty, and
//! a timer that ticks in less would have the app execute nothing else. So signals that nobody but their sender has timed stay blocked when a handler
//! returns, until the app's next system call is over, or for a while of its own code: then the control process, which traces the app, sets its mask. That they come a little
//! later is nothing that the app can tell, except by calls: what a call says is true when the signals are let in behind it.
//!
//! A call that may wait for such a signal has to be made with the signals let in, but would never be made if that were done first. So the kernel is
//! given the mask when the app is in the call: the control process does that at its entry, for which the runtime stops before.
//!
//! Only as long as the app has started no thread: where several take turns, a signal that waits doesn't hold up the others.

use std::arch::asm;
use std::sync::atomic::Ordering;

use bubble::shared::held;
use syscall_replay::is_error;

use super::arrivals::Arrived;
use super::sets::{FAULTS, bit};
use crate::ports::{OwnSlot, raw_syscall};
use crate::serial::calls::AppCall;

/// A handler that took longer has left the timer time enough. The control process looks after signals that are held back for longer than that since the last one.
const LONG_NS: u64 = 100_000_000;

/// What is known of the signals that come.
#[derive(Default)]
pub struct Throttle {
    /// Those of which the last one came from a timer or from another process.
    foreign: u64,
    /// When the last one came, in nanoseconds.
    since: u64,
}

impl Throttle {
    /// A signal is about to be delivered.
    pub fn delivers(&mut self, arrived: &Arrived) {
        if is_foreign(arrived) {
            self.foreign |= bit(arrived.signal);
            self.since = now();
        } else {
            self.foreign &= !bit(arrived.signal);
        }
    }

    /// The app makes this call: what it sends itself has to come when the call is over, or when it lets it in.
    pub fn sees(&mut self, call: &AppCall) {
        if sends(call.number) {
            self.foreign = 0;
        }
    }

    /// A handler returns to code that has these signals blocked. Whether all others stay blocked, too, for a while.
    pub fn begins(&self, mask: u64) -> bool {
        let waiting = pending() & !mask & !FAULTS;
        waiting != 0 && waiting & !self.foreign == 0 && now().saturating_sub(self.since) < LONG_NS
    }
}

/// Whether signals are held back. The control process may have ended that at any moment.
pub fn is_on() -> bool {
    OwnSlot::current().is_some_and(|slot| slot.held().load(Ordering::Acquire) != held::NOT)
}

/// From now on they are, and the control process sets this mask when it is time.
pub fn begin(mask: u64) {
    if let Some(slot) = OwnSlot::current() {
        slot.held_mask().store(mask, Ordering::Relaxed);
        slot.held().store(held::BACK, Ordering::Release);
    }
}

/// The runtime sets the mask itself.
pub fn end() {
    if let Some(slot) = OwnSlot::current() {
        slot.held().store(held::NOT, Ordering::Release);
    }
}

/// Whether some of those that are held back have come.
pub fn waits(mask: u64) -> bool {
    pending() & !mask & !FAULTS != 0
}

/// The next system call is made with the signals let in, from its entry on.
pub fn let_in_at_next_call() {
    let Some(slot) = OwnSlot::current() else { return };
    slot.held().store(held::UNTIL_CALL, Ordering::Release);
    // SAFETY: the control process, which traces this one, takes the trap.
    unsafe { asm!("int3", options(nostack)) };
}

/// Whether it is a call by which the app can send itself a signal.
fn sends(number: u64) -> bool {
    matches!(
        number as i64,
        libc::SYS_kill
            | libc::SYS_tkill
            | libc::SYS_tgkill
            | libc::SYS_rt_sigqueueinfo
            | libc::SYS_rt_tgsigqueueinfo
            | libc::SYS_pidfd_send_signal
    )
}

/// Whether it came from a timer or from another process.
fn is_foreign(arrived: &Arrived) -> bool {
    const OF_INTERVAL_TIMERS: u64 = bit(libc::SIGALRM) | bit(libc::SIGVTALRM) | bit(libc::SIGPROF);
    match arrived.info.si_code {
        libc::SI_TIMER => true,
        libc::SI_KERNEL => OF_INTERVAL_TIMERS & bit(arrived.signal) != 0,
        libc::SI_USER | libc::SI_QUEUE | libc::SI_TKILL => {
            // SAFETY: with these codes there is a sender.
            let sender = unsafe { arrived.info.si_pid() };
            sender != raw_syscall(libc::SYS_getpid as u64, [0; 6]) as i32
        }
        _ => false,
    }
}

/// Signals that are blocked and have come.
fn pending() -> u64 {
    let mut set = 0_u64;
    let result = raw_syscall(libc::SYS_rt_sigpending as u64, [&raw mut set as u64, 8, 0, 0, 0, 0]);
    if is_error(result) { 0 } else { set }
}

fn now() -> u64 {
    let mut time = [0_u64; 2];
    let args = [libc::CLOCK_MONOTONIC as u64, time.as_mut_ptr() as u64, 0, 0, 0, 0];
    raw_syscall(libc::SYS_clock_gettime as u64, args);
    time[0] * 1_000_000_000 + time[1]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrived(signal: i32, code: i32) -> Arrived {
        // SAFETY: siginfo_t is plain data for which zero is valid.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        info.si_code = code;
        Arrived { signal, info }
    }

    #[test]
    fn what_the_app_sends_itself_is_not_held_back() {
        let mut throttle = Throttle::default();
        throttle.delivers(&arrived(libc::SIGALRM, libc::SI_KERNEL));
        throttle.delivers(&arrived(libc::SIGTERM, libc::SI_KERNEL));
        assert_eq!(throttle.foreign, bit(libc::SIGALRM));
        throttle.delivers(&arrived(libc::SIGUSR1, libc::SI_TIMER));
        assert_eq!(throttle.foreign, bit(libc::SIGALRM) | bit(libc::SIGUSR1));
        let call = |number: i64| AppCall { number: number as u64, args: [0; 6] };
        throttle.sees(&call(libc::SYS_getpid));
        assert_ne!(throttle.foreign, 0);
        throttle.sees(&call(libc::SYS_tgkill));
        assert_eq!(throttle.foreign, 0);
        // Nothing waits in this thread.
        assert!(!throttle.begins(0) && !waits(0));
    }
}
