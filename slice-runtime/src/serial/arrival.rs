//! Signals as they arrive: the hook that the engine calls takes note of one, and blocks all others until the app has
//! got it.
//!
//! The real mask is the app's (without the fault signals, which the engine needs), so the kernel queues, orders and
//! reports blocked signals as it always does. When one arrives, the hook stores it and makes the handler
//! return with everything blocked: there is never more than one signal between the kernel and the app.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use super::calls::abort_at;
use super::threads::{self, turns};
use crate::slot::OwnSlot;

/// A set with one signal.
pub const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Signals that the engine must always get: they say what an instruction did.
pub const FAULTS: u64 =
    bit(libc::SIGSEGV) | bit(libc::SIGBUS) | bit(libc::SIGFPE) | bit(libc::SIGILL) | bit(libc::SIGTRAP);

/// A signal that arrived.
#[derive(Clone)]
pub struct Arrived {
    pub signal: i32,
    pub info: libc::siginfo_t,
}

/// The one place for a signal that the app hasn't got yet.
struct Place {
    /// The signal's number, 0 if there is none.
    signal: AtomicU64,
    info: UnsafeCell<MaybeUninit<libc::siginfo_t>>,
}

// SAFETY: `info` is written by the hook while `signal` is 0 and read by `take` while it isn't; both are done by the thread to which the place
// belongs, and the hook doesn't come again before `take`.
unsafe impl Sync for Place {}

impl Place {
    const fn new() -> Self {
        Self { signal: AtomicU64::new(0), info: UnsafeCell::new(MaybeUninit::uninit()) }
    }

    fn put(&self, signal: i32, info: &libc::siginfo_t) {
        // SAFETY: see `Sync` above.
        unsafe { (*self.info.get()).write(*info) };
        self.signal.store(signal as u64, Ordering::Release);
        OwnSlot::current().iter().for_each(OwnSlot::signal_arrived);
    }

    fn forget(&self) {
        if self.signal.swap(0, Ordering::AcqRel) != 0 {
            OwnSlot::current().iter().for_each(OwnSlot::signal_delivered);
        }
    }

    fn take(&self) -> Option<Arrived> {
        let signal = self.signal.load(Ordering::Acquire) as i32;
        if signal == 0 {
            return None;
        }
        // SAFETY: `signal` isn't 0, so the information was written.
        let info = unsafe { (*self.info.get()).assume_init() };
        self.forget();
        Some(Arrived { signal, info })
    }
}

/// What has arrived for one thread of the app.
pub struct Arrivals {
    arrived: Place,
    /// A fault signal that somebody sent with kill(2) while the app blocks it: it can't be blocked for real. As with
    /// the kernel's own queue of ordinary signals, a second one before the first was delivered is dropped.
    held: Place,
    /// The app's blocked signals, for the hook.
    blocked: AtomicU64,
}

impl Arrivals {
    /// Nothing, for a thread that blocks nothing.
    pub const fn new() -> Self {
        Self { arrived: Place::new(), held: Place::new(), blocked: AtomicU64::new(0) }
    }

    /// Not 0 while a signal is waiting for the app.
    pub fn flag(&self) -> &AtomicU64 {
        &self.arrived.signal
    }

    /// Forgets what was left for a thread that has ended.
    pub fn forget(&self) {
        self.arrived.forget();
        self.held.forget();
    }

    /// Whether the thread goes on to wait: the signal isn't for it yet.
    fn holds_back(&self, signal: i32) -> bool {
        // Sent by somebody, not raised by an instruction: the only ones that come although they are "blocked".
        let busy = self.flag().load(Ordering::Acquire) != 0;
        FAULTS & bit(signal) != 0 && (busy || self.blocked.load(Ordering::Acquire) & bit(signal) != 0)
    }
}

/// Not 0 while a signal is waiting for the thread whose turn it is.
pub fn flag() -> &'static AtomicU64 {
    threads::of_turn().arrivals.flag()
}

/// The signal that waits for it, if any.
pub fn take() -> Option<Arrived> {
    threads::of_turn().arrivals.arrived.take()
}

/// Tells the hook what that thread blocks, and lets a held signal through that it no longer blocks.
pub fn set_blocked(mask: u64) {
    let Arrivals { arrived, held, blocked } = &threads::of_turn().arrivals;
    blocked.store(mask, Ordering::Release);
    let waiting = held.signal.load(Ordering::Acquire) as i32;
    if waiting != 0
        && mask & bit(waiting) == 0
        && arrived.signal.load(Ordering::Acquire) == 0
        && let Some(now) = held.take()
    {
        arrived.put(now.signal, &now.info);
        engine::interrupt();
    }
}

/// The engine's hook.
pub fn hook(signal: i32, info: &libc::siginfo_t, context: &mut libc::ucontext_t) -> bool {
    let area = threads::of_signal_stack();
    let has_turn = area.has_turn();
    let is_asked = area.is_asked();
    if turns::is_request(signal, info, is_asked) {
        if has_turn {
            engine::interrupt();
        }
        area.waiter.request_arrived();
        return has_turn;
    }
    if area.arrivals.holds_back(signal) {
        area.arrivals.held.put(signal, info);
        // It may stand for a request with the same number, which then doesn't come.
        if is_asked {
            engine::interrupt();
        }
        return is_asked;
    }
    area.arrivals.arrived.put(signal, info);
    block_all(context);
    let registers = &mut context.uc_mcontext.gregs;
    let [pc, rcx] = [libc::REG_RIP, libc::REG_RCX].map(|register| registers[register as usize] as u64);
    if let Some(abort) = abort_at(pc, rcx) {
        registers[libc::REG_RIP as usize] = abort as i64;
    }
    // Whoever gets a turn looks for what has arrived before.
    if has_turn {
        engine::interrupt();
    }
    has_turn
}

/// The handler returns with everything blocked but the fault signals.
fn block_all(context: &mut libc::ucontext_t) {
    let mask = !FAULTS;
    // SAFETY: the kernel's mask is the first eight bytes of libc's larger set.
    unsafe { (&raw mut context.uc_sigmask).cast::<u64>().write(mask) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_signals_stay_open_while_a_signal_waits() {
        // SAFETY: all zero is a valid context.
        let mut context: libc::ucontext_t = unsafe { std::mem::zeroed() };
        block_all(&mut context);
        // SAFETY: the set was initialised, by zeros and by `block_all`.
        let blocked = |signal| unsafe { libc::sigismember(&raw const context.uc_sigmask, signal) } == 1;
        assert!(blocked(libc::SIGALRM) && blocked(libc::SIGRTMAX()));
        assert!(!blocked(libc::SIGSEGV) && !blocked(libc::SIGTRAP));
    }
}
