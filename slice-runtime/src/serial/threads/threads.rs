//! All threads of the app, and whose turn it is.

use std::sync::atomic::Ordering;

use super::block::ThreadBlock;
use super::start::Begin;
use super::turns::{self, Turns};
use crate::ports::raw_syscall;
use crate::serial::calls::{AppCall, Length, length_of};
use crate::serial::signals::{Arrivals, Signals, bit};

pub static TURNS: Turns = Turns::new(turns::request);

/// The threads as the host knows them.
pub struct Threads {
    /// What a new one starts with.
    pub(in crate::serial) begin: Begin,
    pub(in crate::serial) alive: usize,
    /// Of these, so many have left the image.
    pub(in crate::serial) departed: usize,
    blocks: Vec<&'static ThreadBlock>,
    /// Started by the app.
    pub started: u64,
    /// Each has what is its own in a window of its own.
    pub(in crate::serial) have_windows: bool,
}

/// The thread block of the thread whose turn it is.
pub fn of_turn() -> &'static ThreadBlock {
    ThreadBlock::of_waiter(TURNS.holder().expect("it is some thread's turn"))
}

/// The thread block of the thread whose signal handler calls this.
pub fn of_signal_stack() -> &'static ThreadBlock {
    ThreadBlock::of_this_stack()
}

impl Threads {
    /// The first thread, which calls this and has the turn from now on.
    pub fn first(begin: Begin) -> Self {
        let block = ThreadBlock::new(0);
        block.waiter.tid.store(own_number(), Ordering::Relaxed);
        block.take_signals();
        TURNS.take(&block.waiter);
        Self { begin, alive: 1, departed: 0, blocks: vec![block], started: 0, have_windows: false }
    }

    /// What has arrived for the first of them.
    pub fn first_arrivals(&self) -> &'static Arrivals {
        &self.blocks[0].arrivals
    }

    /// Other threads than this one that are in the cache, or refer to places there.
    pub fn inside(&self, me: &ThreadBlock) -> Vec<&'static ThreadBlock> {
        let others = self.blocks.iter().copied().filter(|block| !std::ptr::eq(*block, me));
        others.filter(|block| block.lane.is_inside.load(Ordering::SeqCst)).collect()
    }

    /// Whether there are more than one.
    pub fn are_many(&self) -> bool {
        self.alive > 1
    }

    pub(in crate::serial) fn block(&mut self) -> &'static ThreadBlock {
        // The first one's window is another's than all others'.
        let may_be = |block: &ThreadBlock| !self.have_windows || block.window().is_some();
        let unused = self.blocks.iter().copied().find(|block| may_be(block) && block.reuse());
        unused.unwrap_or_else(|| {
            let new = ThreadBlock::new(self.blocks.len() as u64);
            self.blocks.push(new);
            new
        })
    }

    /// The signal by which the call ends the app, if it is one of several threads that makes it. The kernel ends all threads before such a call
    /// returns; if the signal went to another thread's handler, this one would go on until that one has the turn.
    pub fn death_by(&self, call: &AppCall, signals: &Signals) -> Option<i32> {
        let is_this = |process: u64| process == raw_syscall(libc::SYS_getpid as u64, [0; 6]);
        let [first, second, third, ..] = call.args;
        let (thread, signal) = match call.number as i64 {
            libc::SYS_kill if is_this(first) => (None, second as i32),
            libc::SYS_tkill => (Some(first as i32), second as i32),
            libc::SYS_tgkill if is_this(first) => (Some(second as i32), third as i32),
            _ => return None,
        };
        let me = of_turn();
        let takes_it = |block: &&ThreadBlock| {
            // SAFETY: this thread has the turn.
            let mask = if std::ptr::eq(*block, me) { Some(signals.mask()) } else { unsafe { block.mask() } };
            let is_meant = thread.is_none_or(|thread| block.waiter.tid.load(Ordering::Relaxed) == thread);
            is_meant && mask.is_some_and(|mask| mask & bit(signal) == 0)
        };
        let dies = self.are_many() && signals.ends_at_once(signal) && self.blocks.iter().any(takes_it);
        dies.then_some(signal)
    }
}

/// Whether a call neither waits nor tells of signals that wait.
pub fn never_waits(call: &AppCall) -> bool {
    length_of(call) == Length::Instant && call.number as i64 != libc::SYS_rt_sigpending
}

/// Nobody asks the thread that has the turn for it by a signal any more: it would still wait for the program that is executed now, and end it. If that can't be
/// executed, the turn is given up then.
pub fn before_exec() {
    TURNS.ask_myself(&of_turn().waiter);
    engine::interrupt();
}

fn own_number() -> i32 {
    raw_syscall(libc::SYS_gettid as u64, [0; 6]) as i32
}
