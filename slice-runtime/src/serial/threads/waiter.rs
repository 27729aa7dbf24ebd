//! A thread as far as turns go, and how it sleeps until it is told something.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use crate::ports::raw_syscall;
use crate::serial::calls::LastingCalls;

/// Values of [`Waiter::word`]: the turn was given to it.
const GRANTED: u32 = 1;

/// It is the first in the queue now.
const FIRST: u32 = 2;

/// It is, and who has the turn doesn't need it just now.
const OFFERED: u32 = 3;

/// What a thread was told that has slept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// Nothing, or that it is the first in the queue.
    Nothing,
    /// It has the turn.
    Granted,
    /// It may take it, if it is quick.
    Offered,
}

impl Told {
    fn of(word: u32) -> Self {
        match word {
            GRANTED => Told::Granted,
            OFFERED => Told::Offered,
            _ => Told::Nothing,
        }
    }
}

/// A thread as far as turns go.
#[repr(align(64))]
pub struct Waiter {
    /// Its number.
    pub tid: AtomicI32,
    /// What it sleeps on: what it was told since it looked, 0 if nothing.
    word: AtomicU32,
    /// A request has arrived.
    pub(super) asked: AtomicBool,
    /// Calls begun.
    pub(super) calls: AtomicU64,
    /// Which calls were no short ones.
    pub lasting: LastingCalls,
    /// It has waited for long, as the first in the queue: it is to be given the turn.
    pub(super) is_due: AtomicBool,
    /// Behind it in the queue.
    pub(super) next: AtomicPtr<Waiter>,
}

impl Waiter {
    /// A thread that doesn't wait.
    pub const fn new() -> Self {
        Self {
            tid: AtomicI32::new(0),
            word: AtomicU32::new(0),
            asked: AtomicBool::new(false),
            calls: AtomicU64::new(0),
            lasting: LastingCalls::new(),
            is_due: AtomicBool::new(false),
            next: AtomicPtr::new(null_mut()),
        }
    }

    /// The request has arrived. To be called by the thread itself, from the handler.
    pub fn request_arrived(&self) {
        self.asked.store(true, Ordering::Release);
    }

    /// Tells it that it has the turn. Gives what it was told before and doesn't know yet.
    pub(super) fn grant(&self) -> Told {
        let before = Told::of(self.word.swap(GRANTED, Ordering::AcqRel));
        futex(&self.word, libc::FUTEX_WAKE, 1, std::ptr::null());
        before
    }

    /// Tells it that it is the first in the queue. Not lost if it is only about to sleep.
    pub(super) fn becomes_first(&self) {
        let _ = self.word.compare_exchange(0, FIRST, Ordering::AcqRel, Ordering::Acquire);
        futex(&self.word, libc::FUTEX_WAKE, 1, std::ptr::null());
    }

    /// Tells it that it may take the turn. False if it was told something before, of which it knows nothing yet.
    pub(super) fn offer(&self) -> bool {
        let is_told = self.word.compare_exchange(0, OFFERED, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if is_told {
            futex(&self.word, libc::FUTEX_WAKE, 1, std::ptr::null());
        }
        is_told
    }

    /// Sleeps until it was told something.
    pub(super) fn sleep(&self, timeout: *const libc::timespec) -> Told {
        futex(&self.word, libc::FUTEX_WAIT, 0, timeout);
        self.told()
    }

    /// What it was told since it has asked last.
    pub(super) fn told(&self) -> Told {
        Told::of(self.word.swap(0, Ordering::AcqRel))
    }

    pub(super) fn address(&self) -> u64 {
        self as *const Self as u64
    }
}

fn futex(word: &AtomicU32, operation: i32, value: u32, timeout: *const libc::timespec) {
    let operation = operation | libc::FUTEX_PRIVATE_FLAG;
    raw_syscall(libc::SYS_futex as u64, [word.as_ptr() as u64, operation as u64, value.into(), timeout as u64, 0, 0]);
}
