//! What the runtime keeps for a thread of the app: its signals, its state while another one has the turn, and two stacks.
//!
//! ```text
//!   + 0         Thread block
//!   + ...       signal stack
//!   + 128 KiB   a page that nobody can use
//!               the runtime's stack, for all threads but the first
//!   + 1 MiB
//! ```
//! It lies at a multiple of its size, so that a handler finds it by its own stack pointer. Thread blocks are used again and never given back.

use std::alloc::{Layout, alloc};
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use engine::{Runner, StoppedIn};
use translator::abi::Cpu;

use super::waiter::Waiter;
use crate::image::tls;
use crate::ports::{AppThread, SystemCall, raw_syscall};
use crate::serial::calls::ChangedCall;
use crate::serial::signals::{Arrivals, InterruptedCall, OfThread};

const SIZE: usize = 1 << 20;
const SIGNAL_STACK_END: usize = 128 << 10;
const PAGE: usize = machine::PAGE as usize;

/// A thread's state while it isn't the one for which the engine runs.
pub struct ThreadContext {
    pub cpu: Cpu,
    pub stopped: StoppedIn,
    pub signals: OfThread,
    pub begun: InterruptedCall,
    /// The call that the tool has been told it makes.
    pub call: Option<SystemCall>,
    /// Who it is to the tool, and whether it hasn't begun.
    pub thread: (AppThread, bool),
    /// The call that the tool has been asked about.
    pub changed: Option<ChangedCall>,
    /// Where threads have windows: what runs it.
    pub runner: Option<Box<Runner>>,
}

/// Of a thread that runs translated code at the same time as others, see `parallel`.
#[derive(Default)]
pub struct Lane {
    /// It runs translated code, or is about to, and hasn't the turn.
    pub in_cache: AtomicBool,
    /// It does, or refers to places in the cache.
    pub is_inside: AtomicBool,
    /// It was sent a request that brings it out. It goes on when that has arrived.
    pub is_kicked: AtomicBool,
}

/// See the module's documentation.
#[repr(C)]
pub struct ThreadBlock {
    /// First, so that it is found by that.
    pub waiter: Waiter,
    pub arrivals: Arrivals,
    /// Which of the thread blocks it is; the first thread's is 0. Its thread has the window with the number before.
    number: u64,
    /// The storage of the image's thread-local variables for threads with windows; 0: it has none yet.
    tls: AtomicU64,
    /// How its thread runs translated code without the turn.
    pub lane: Lane,
    /// 0 once its thread has gone.
    is_used: AtomicU32,
    state: UnsafeCell<Option<Box<ThreadContext>>>,
}

// SAFETY: `state` is used by who has the turn, or before the thread exists.
unsafe impl Sync for ThreadBlock {}

impl ThreadBlock {
    /// A new one, which is used.
    pub fn new(number: u64) -> &'static ThreadBlock {
        let layout = Layout::from_size_align(SIZE, SIZE).expect("the size is a power of two");
        // SAFETY: the layout has a size.
        let start = unsafe { alloc(layout) };
        assert!(!start.is_null(), "no memory for another thread");
        let block = start.cast::<ThreadBlock>();
        // SAFETY: the memory is large enough, aligned, and nobody else's; the page holds nothing.
        unsafe {
            block.write(ThreadBlock {
                waiter: Waiter::new(),
                arrivals: Arrivals::new(),
                number,
                tls: AtomicU64::new(0),
                lane: Lane::default(),
                is_used: AtomicU32::new(1),
                state: UnsafeCell::new(None),
            });
            libc::mprotect(start.add(SIGNAL_STACK_END).cast(), PAGE, libc::PROT_NONE);
            &*block
        }
    }

    /// The number of the window that its thread has, if threads have windows. `None`: the first thread's, which is there.
    pub fn window(&self) -> Option<u64> {
        self.number.checked_sub(1)
    }

    /// Uses one again, if its last thread has gone.
    pub fn reuse(&'static self) -> bool {
        let is_free = self.is_used.compare_exchange(0, 1, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if is_free {
            self.arrivals.forget();
        }
        is_free
    }

    /// Nobody uses it. Of a thread block whose thread runs on it this is written by that thread's last instructions.
    pub fn is_used(&self) -> &AtomicU32 {
        &self.is_used
    }

    /// The thread block whose signal stack or runtime's stack this is called on.
    pub fn of_this_stack() -> &'static ThreadBlock {
        let here = 0_u8;
        let start = (&raw const here as usize) & !(SIZE - 1);
        // SAFETY: both stacks lie in a thread block, by the caller's word; thread blocks stay.
        unsafe { &*(start as *const ThreadBlock) }
    }

    /// The thread block of a thread as turns know it.
    pub fn of_waiter(waiter: &'static Waiter) -> &'static ThreadBlock {
        // SAFETY: every waiter in a process that runs an app is the first field of a thread block.
        unsafe { &*(waiter as *const Waiter).cast::<ThreadBlock>() }
    }

    /// Makes its signal stack that of the calling thread.
    pub fn take_signals(&self) {
        let start = (self as *const Self).wrapping_add(1) as usize;
        let end = self as *const Self as usize + SIGNAL_STACK_END;
        let stack = libc::stack_t { ss_sp: start as *mut _, ss_flags: 0, ss_size: end - start };
        let result = raw_syscall(libc::SYS_sigaltstack as u64, [&raw const stack as u64, 0, 0, 0, 0, 0]);
        assert_eq!(result, 0, "sigaltstack");
    }

    /// The calling thread, which has a window, has thread-local variables of the image's of its own from now on: those of the last thread of this thread block.
    pub fn take_variables(&self) {
        if self.tls.load(Ordering::Relaxed) == 0 {
            self.tls.store(tls::make(), Ordering::Relaxed);
        }
        // SAFETY: one thread has a thread block at a time. It begins, and has used none of the first one's.
        unsafe { tls::enter(self.tls.load(Ordering::Relaxed)) };
    }

    /// The runtime's stack: start and size.
    pub fn stack(&self) -> (u64, u64) {
        let start = SIGNAL_STACK_END + PAGE;
        (self as *const Self as u64 + start as u64, (SIZE - start) as u64)
    }

    /// Keeps a state.
    ///
    /// # Safety
    /// The caller has the turn, or the thread block's thread doesn't exist yet.
    pub unsafe fn put(&self, state: Box<ThreadContext>) {
        // SAFETY: the caller's promise.
        unsafe { *self.state.get() = Some(state) };
    }

    /// What its thread blocks, if that isn't the one for which the engine runs. None after its end.
    ///
    /// # Safety
    /// The caller has the turn.
    pub unsafe fn mask(&self) -> Option<u64> {
        // SAFETY: the caller's promise.
        unsafe { (*self.state.get()).as_ref() }.map(|state| state.signals.mask)
    }

    /// Takes the state out.
    ///
    /// # Safety
    /// The caller has the turn.
    pub unsafe fn take(&self) -> Option<Box<ThreadContext>> {
        // SAFETY: the caller's promise.
        unsafe { (*self.state.get()).take() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_used_again_when_they_were_given_back() {
        let block = ThreadBlock::new(0);
        assert!(!block.reuse());
        block.is_used().store(0, Ordering::Release);
        assert!(block.reuse() && !block.reuse());
        let (start, size) = block.stack();
        assert_eq!(start + size, block as *const ThreadBlock as u64 + SIZE as u64);
        assert!(std::ptr::eq(ThreadBlock::of_waiter(&block.waiter), block));
    }
}
