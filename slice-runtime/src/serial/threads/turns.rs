//! Who may use the engine, the host and the tool: one thread of the app after the other.
//!
//! A thread has the turn while it runs translated code or the runtime. It gives it up before a call that waits, and for others when it had it
//! for long enough. Most calls are short: a thread keeps the turn meanwhile, but marks itself, and if the call lasts the first thread in the queue
//! takes the turn away. So many small calls don't cost as many changes of threads, and a call that waits after all holds nobody up for long.
//!
//! ```text
//!   free ── take ──▶ has ── begin_call ──▶ in call ── end_call ──▶ has
//!                    has ── enter_cache ──▶ in cache ── leave_cache ──▶ has
//!                    has ◀── take ── queue ◀── end_call, leave_cache, if somebody has taken it meanwhile
//!                    has ── request ──▶ asked: is interrupted, and gives it up
//! ```
//! Where threads run translated code at the same time, one in the cache doesn't need the turn: whoever wants it takes it at once, also before those in the queue. Times between are so short that to
//! give it to who waits, and to wait for that, would take longer than what it is for. So who wants it looks for it for some microseconds before it sleeps, and who has slept for long is given it.
//!
//! Named invariant *delivered*: a request is a signal, and whoever has been asked goes on to nothing that it could interrupt, a call of
//! the app's least of all, before it has arrived. A request is made, with the queue locked, to a thread that has the turn; without the turn it
//! gets none.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use super::waiter::{Told, Waiter};
use super::watch::{ASKED, BITS, IN_CACHE, IN_CALL, Seen, Watch};
use crate::ports::raw_syscall;

/// How often the first in the queue looks after who has the turn. A call that lasts from one look to the next loses it.
static LOOK: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 200_000 };
/// How often who wants the turn looks for it before it sleeps: some microseconds.
const ROUNDS: u32 = 100;
/// One that is never blocked (see [`crate::serial::signals::FAULTS`]) and that nearly nobody sends.
const REQUEST: i32 = libc::SIGFPE;

/// The turn and those who wait for it.
pub struct Turns {
    /// Whose it is, with [`BITS`]; 0 if nobody's.
    turn: AtomicU64,
    /// The queue is being used.
    locked: AtomicBool,
    first: AtomicPtr<Waiter>,
    /// Threads that look for the turn without sleeping, and those that were woken to do that.
    looking: AtomicU32,
    last: AtomicPtr<Waiter>,
    request: fn(&Waiter),
}

impl Turns {
    /// Nobody's turn. `request` makes [`Waiter::request_arrived`] be called, by a signal to that thread.
    pub const fn new(request: fn(&Waiter)) -> Self {
        Self {
            turn: AtomicU64::new(0),
            locked: AtomicBool::new(false),
            first: AtomicPtr::new(null_mut()),
            looking: AtomicU32::new(0),
            last: AtomicPtr::new(null_mut()),
            request,
        }
    }

    /// Whose turn it is.
    pub fn holder(&self) -> Option<&'static Waiter> {
        let address = self.turn.load(Ordering::Acquire) & !BITS;
        // SAFETY: only `take` and those that it gives way to store here, waiters that live for ever.
        unsafe { (address as *const Waiter).as_ref() }
    }

    /// Whether the thread has the turn, and isn't in a call.
    pub fn is_held_by(&self, me: &Waiter) -> bool {
        self.turn.load(Ordering::Acquire) & !ASKED == me.address()
    }

    /// Whether the thread has the turn and is to give it up.
    pub fn is_asked_for(&self, me: &Waiter) -> bool {
        self.turn.load(Ordering::Acquire) == me.address() | ASKED
    }

    /// Waits for the turn.
    pub fn take(&self, me: &'static Waiter) {
        self.looking.fetch_add(1, Ordering::SeqCst);
        let is_taken = self.take_soon(me);
        self.looking.fetch_sub(1, Ordering::SeqCst);
        if is_taken {
            return;
        }
        self.lock();
        if self.exchange(0, me.address()) {
            return self.unlock();
        }
        self.append(me);
        // Who has gone into the cache since hasn't seen this one.
        let mut has_taken = self.is_first(me) && self.takes_from_cache(me);
        self.unlock();
        let mut watch = Watch::default();
        while !has_taken {
            // Only the first looks; who becomes the first is told.
            let timeout = if self.is_first(me) { &raw const LOOK } else { std::ptr::null() };
            let told = me.sleep(timeout);
            if told == Told::Granted {
                return;
            }
            has_taken = told == Told::Offered && self.take_first(me);
            self.is_known(told);
            if !has_taken {
                self.lock();
                has_taken = self.is_first(me) && self.look(me, &mut watch);
                self.unlock();
            }
        }
        // Since it isn't in the queue any more nobody offers it anything.
        self.is_known(me.told());
    }

    /// What one was told is known to it: an offer has nobody looking any more.
    fn is_known(&self, told: Told) {
        if told == Told::Offered {
            self.looking.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Looks for the turn for some microseconds, before all in the queue. Whether the thread has it.
    fn take_soon(&self, me: &'static Waiter) -> bool {
        (0..ROUNDS).any(|_| {
            let turn = self.turn.load(Ordering::SeqCst);
            let is_free = turn == 0 || turn & IN_CACHE != 0;
            let is_taken = is_free && self.exchange(turn, me.address());
            if !is_taken {
                std::hint::spin_loop();
            }
            is_taken
        })
    }

    /// The same for the first in the queue.
    fn take_first(&self, me: &'static Waiter) -> bool {
        (0..ROUNDS).any(|_| {
            if self.turn.load(Ordering::SeqCst) & IN_CACHE == 0 {
                std::hint::spin_loop();
                return false;
            }
            self.lock();
            let is_taken = self.is_first(me) && self.takes_from_cache(me);
            self.unlock();
            is_taken
        })
    }

    /// The first in the queue takes the turn if who has it is in the cache. Whether it has it now. With the lock held.
    fn takes_from_cache(&self, me: &'static Waiter) -> bool {
        let turn = self.turn.load(Ordering::SeqCst);
        // Nobody gives it to one that waits where it is free.
        let is_taken = (turn == 0 || turn & IN_CACHE != 0) && self.exchange(turn, me.address());
        if is_taken {
            self.remove_first();
            self.first().into_iter().for_each(Waiter::becomes_first);
        }
        is_taken
    }

    /// The thread, which has the turn, goes into the cache, where it doesn't need it.
    pub fn enter_cache(&self, me: &Waiter) {
        let is_wanted = self.first().is_some_and(|first| first.is_due.load(Ordering::Relaxed));
        if is_wanted || !self.exchange(me.address(), me.address() | IN_CACHE) {
            return self.give(me);
        }
        if self.first().is_some() && self.looking.load(Ordering::SeqCst) == 0 {
            self.looking.fetch_add(1, Ordering::SeqCst);
            self.lock();
            let first = self.first();
            let is_told = first.is_some_and(Waiter::offer);
            self.unlock();
            if !is_told {
                self.looking.fetch_sub(1, Ordering::SeqCst);
            }
        }
    }

    /// It has left the cache: waits until it has the turn. False if it had lost it.
    pub fn leave_cache(&self, me: &'static Waiter) -> bool {
        let has_kept = self.exchange(me.address() | IN_CACHE, me.address());
        if !has_kept {
            self.take(me);
        }
        has_kept
    }

    /// Gives the turn to the first in the queue. With the turn only.
    pub fn give(&self, me: &Waiter) {
        self.lock();
        if self.turn.load(Ordering::Acquire) == me.address() | ASKED {
            self.unlock();
            self.wait_for_request(me);
            self.lock();
        }
        let next = self.remove_first();
        // Requests are made with the lock held only, so none came between.
        self.turn.store(next.map_or(0, Waiter::address), Ordering::Release);
        let first = self.first();
        next.into_iter().for_each(|next| self.is_known(next.grant()));
        self.unlock();
        first.into_iter().for_each(Waiter::becomes_first);
    }

    /// The thread, which has the turn, counts as asked from now on: nobody sends it a request, and none is on its way. For what a signal mustn't come to.
    pub fn ask_myself(&self, me: &Waiter) {
        if self.exchange(me.address(), me.address() | ASKED) {
            return me.request_arrived();
        }
        // Who asks does it with the lock held: the request was sent when we get it.
        self.lock();
        self.unlock();
        while !me.asked.load(Ordering::Acquire) {
            (self.request)(me);
        }
    }

    /// The thread is about to make a call that is short as a rule. False if it was asked to give the turn up: then it is to do that first.
    pub fn begin_call(&self, me: &Waiter) -> bool {
        me.calls.fetch_add(1, Ordering::Relaxed);
        self.exchange(me.address(), me.address() | IN_CALL)
    }

    /// That call is over: waits until the thread has the turn. False if it had lost it.
    pub fn end_call(&self, me: &'static Waiter) -> bool {
        let has_kept = self.exchange(me.address() | IN_CALL, me.address());
        if !has_kept {
            self.take(me);
        }
        has_kept
    }

    fn first(&self) -> Option<&'static Waiter> {
        // SAFETY: waiters live for ever.
        unsafe { self.first.load(Ordering::SeqCst).as_ref() }
    }

    fn is_first(&self, me: &Waiter) -> bool {
        self.first().is_some_and(|first| std::ptr::eq(first, me))
    }

    fn exchange(&self, from: u64, to: u64) -> bool {
        self.turn.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// The first in the queue looks after who has the turn. Whether it has the turn now. With the lock held.
    fn look(&self, me: &'static Waiter, watch: &mut Watch) -> bool {
        if self.takes_from_cache(me) {
            return true;
        }
        let turn = self.turn.load(Ordering::Acquire);
        if turn == 0 {
            return false;
        }
        // SAFETY: as in `holder`.
        let holder = unsafe { &*((turn & !BITS) as *const Waiter) };
        match watch.sees(turn & !ASKED, holder.calls.load(Ordering::Relaxed)) {
            // It may be in another call by now, but it is in one.
            Seen::LongCall if self.exchange(turn, me.address()) => {
                self.remove_first();
                self.first().into_iter().for_each(Waiter::becomes_first);
                return true;
            }
            Seen::ManyTurns => me.is_due.store(true, Ordering::Relaxed),
            Seen::LongTurn if self.exchange(holder.address(), holder.address() | ASKED) => (self.request)(holder),
            _ => {}
        }
        false
    }

    /// Until the signal that was sent has arrived. If one of the app's with that number was on its way, it never does: so the thread sends it itself,
    /// and what is on its way to it has arrived when that call is over.
    pub fn wait_for_request(&self, me: &Waiter) {
        while !me.asked.swap(false, Ordering::AcqRel) {
            (self.request)(me);
        }
    }

    fn append(&self, me: &'static Waiter) {
        me.is_due.store(false, Ordering::Relaxed);
        let place = (me as *const Waiter).cast_mut();
        me.next.store(null_mut(), Ordering::Relaxed);
        let last = self.last.swap(place, Ordering::SeqCst);
        // SAFETY: waiters live for ever.
        match unsafe { last.as_ref() } {
            Some(last) => last.next.store(place, Ordering::Relaxed),
            None => self.first.store(place, Ordering::SeqCst),
        }
    }

    fn remove_first(&self) -> Option<&'static Waiter> {
        let first = self.first()?;
        let next = first.next.load(Ordering::Relaxed);
        self.first.store(next, Ordering::Relaxed);
        if next.is_null() {
            self.last.store(null_mut(), Ordering::Relaxed);
        }
        Some(first)
    }

    fn lock(&self) {
        while self.locked.swap(true, Ordering::Acquire) {
            yield_processor();
        }
    }

    fn unlock(&self) {
        self.locked.store(false, Ordering::Release);
    }
}

/// Asks a thread for the turn, by a signal that tells itself from others.
pub fn request(of: &Waiter) {
    let mut info = [0_u64; 16];
    // Number, error and code are halves of words; the code says that the value in the fourth word is the sender's.
    info[0] = REQUEST as u64;
    info[1] = u64::from(libc::SI_QUEUE as u32);
    info[3] = MARK;
    let process = raw_syscall(libc::SYS_getpid as u64, [0; 6]);
    let thread = of.tid.load(Ordering::Relaxed) as u64;
    let args = [process, thread, REQUEST as u64, info.as_ptr() as u64, 0, 0];
    let result = raw_syscall(libc::SYS_rt_tgsigqueueinfo as u64, args);
    assert_eq!(result, 0, "a thread that has the turn can be sent a signal");
}

/// "Your turn is over".
const MARK: u64 = 0x7475_726e_206f_7665;

/// Whether a signal is such a request. `is_asked`: one was sent to the thread. Beyond the user's limit of waiting signals the kernel drops what tells it from others, and names no
/// sender.
pub fn is_request(signal: i32, info: &libc::siginfo_t, is_asked: bool) -> bool {
    // SAFETY: the kernel has initialised it all.
    let is_nobodys = info.si_code == libc::SI_USER && unsafe { info.si_pid() } == 0;
    // SAFETY: the structure has 16 words, all of them initialised by the kernel.
    let value = unsafe { (info as *const libc::siginfo_t).cast::<u64>().add(3).read() };
    signal == REQUEST && (info.si_code == libc::SI_QUEUE && value == MARK || is_asked && is_nobodys)
}

fn yield_processor() {
    raw_syscall(libc::SYS_sched_yield as u64, [0; 6]);
}

#[cfg(test)]
mod tests;
