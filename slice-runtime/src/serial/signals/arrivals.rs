//! Signals that have arrived for a thread and haven't reached the app yet.

use std::cell::UnsafeCell;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use super::sets::{FAULTS, bit};
use crate::ports::OwnSlot;

/// A signal that arrived.
#[derive(Clone)]
pub struct Arrived {
    pub signal: i32,
    pub info: libc::siginfo_t,
}

/// The one place for a signal that the app hasn't got yet.
#[derive(Debug)]
struct ArrivalCell {
    /// The signal's number, 0 if there is none.
    signal: AtomicU64,
    info: UnsafeCell<MaybeUninit<libc::siginfo_t>>,
}

// SAFETY: `info` is written by the hook while `signal` is 0 and read by `take` while it isn't; both are done by the thread to which the place
// belongs, and the hook doesn't come again before `take`.
unsafe impl Sync for ArrivalCell {}

impl ArrivalCell {
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
#[derive(Debug)]
pub struct Arrivals {
    arrived: ArrivalCell,
    /// A fault signal that somebody sent with kill(2) while the app blocks it: it can't be blocked for real. As with
    /// the kernel's own queue of ordinary signals, a second one before the first was delivered is dropped.
    held: ArrivalCell,
    /// The app's blocked signals, for the hook.
    blocked: AtomicU64,
}

impl Arrivals {
    /// Nothing, for a thread that blocks nothing.
    pub const fn new() -> Self {
        Self { arrived: ArrivalCell::new(), held: ArrivalCell::new(), blocked: AtomicU64::new(0) }
    }

    /// Not 0 while a signal is waiting for the app.
    pub fn flag(&self) -> &AtomicU64 {
        &self.arrived.signal
    }

    /// The signal that waits, if any.
    pub fn take(&self) -> Option<Arrived> {
        self.arrived.take()
    }

    /// Takes what waits for the app to unblock it.
    pub fn take_held(&self) -> Option<Arrived> {
        self.held.take()
    }

    /// Tells the hook what the thread, whose turn it is, blocks, and lets a held signal through that it no longer blocks.
    pub fn set_blocked(&self, mask: u64) {
        let Self { arrived, held, blocked } = self;
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

    /// Forgets what was left for a thread that has ended.
    pub fn forget(&self) {
        self.arrived.forget();
        self.held.forget();
    }

    /// A signal has come for it.
    pub fn arrive(&self, signal: i32, info: &libc::siginfo_t) {
        self.arrived.put(signal, info);
    }

    /// One has come that it holds back.
    pub fn hold(&self, signal: i32, info: &libc::siginfo_t) {
        self.held.put(signal, info);
    }

    /// Whether the thread goes on to wait: the signal isn't for it yet.
    pub(in crate::serial) fn holds_back(&self, signal: i32) -> bool {
        // Sent by somebody, not raised by an instruction: the only ones that come although they are "blocked".
        let busy = self.flag().load(Ordering::Acquire) != 0;
        FAULTS & bit(signal) != 0 && (busy || self.blocked.load(Ordering::Acquire) & bit(signal) != 0)
    }
}

/// What the engine calls with a signal that has arrived. True: translated code is to be left.
pub type Hook = fn(i32, &libc::siginfo_t, &mut libc::ucontext_t) -> bool;

/// Of no thread: the app's first one hasn't its own yet.
pub static NOBODYS: Arrivals = Arrivals::new();
