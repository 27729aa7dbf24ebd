//! Who may use the engine, the host and the tool: one thread of the app after the other.
//!
//! A thread has the turn while it runs translated code or the runtime. It gives it up before a call that waits, and for others when it had it
//! for long enough. Most calls are short: a thread keeps the turn meanwhile, but marks itself, and if the call lasts the first thread in the queue
//! takes the turn away. So many small calls don't cost as many changes of threads, and a call that waits after all holds nobody up for long.
//!
//! ```text
//!   free ── take ──▶ has ── begin_call ──▶ in call ── end_call ──▶ has
//!                    has ◀── take ── queue ◀── end_call, if somebody has taken it meanwhile
//!                    has ── request ──▶ asked: is interrupted, and gives it up
//! ```
//! Named invariant *delivered*: a request is a signal, and whoever has been asked goes on to nothing that it could interrupt, a call of
//! the app's least of all, before it has arrived. A request is made, with the queue locked, to a thread that has the turn; without the turn it
//! gets none.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

use super::waiter::Waiter;
use super::watch::{ASKED, BITS, IN_CALL, Seen, Watch};
use crate::ports::raw_syscall;

/// How often the first in the queue looks after who has the turn. A call that lasts from one look to the next loses it.
static LOOK: libc::timespec = libc::timespec { tv_sec: 0, tv_nsec: 200_000 };
/// One that is never blocked (see [`crate::serial::signals::FAULTS`]) and that nearly nobody sends.
const REQUEST: i32 = libc::SIGFPE;

/// The turn and those who wait for it.
pub struct Turns {
    /// Whose it is, with [`BITS`]; 0 if nobody's.
    turn: AtomicU64,
    /// The queue is being used.
    locked: AtomicBool,
    first: AtomicPtr<Waiter>,
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
        self.lock();
        if self.turn.load(Ordering::Acquire) == 0 {
            self.turn.store(me.address(), Ordering::Release);
            return self.unlock();
        }
        self.append(me);
        self.unlock();
        let mut watch = Watch::default();
        loop {
            // Only the first looks; who becomes the first is told.
            let timeout = if self.is_first(me) { &raw const LOOK } else { std::ptr::null() };
            if me.sleep(timeout) {
                return;
            }
            self.lock();
            let has_taken = self.is_first(me) && self.look(me, &mut watch);
            self.unlock();
            if has_taken {
                return;
            }
        }
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
        next.into_iter().for_each(Waiter::grant);
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
        unsafe { self.first.load(Ordering::Relaxed).as_ref() }
    }

    fn is_first(&self, me: &Waiter) -> bool {
        self.first().is_some_and(|first| std::ptr::eq(first, me))
    }

    fn exchange(&self, from: u64, to: u64) -> bool {
        self.turn.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// The first in the queue looks after who has the turn. Whether it has the turn now. With the lock held.
    fn look(&self, me: &'static Waiter, watch: &mut Watch) -> bool {
        let turn = self.turn.load(Ordering::Acquire);
        // SAFETY: as in `holder`; the queue isn't empty, so it is somebody's turn.
        let holder = unsafe { &*((turn & !BITS) as *const Waiter) };
        match watch.sees(turn & !ASKED, holder.calls.load(Ordering::Relaxed)) {
            // It may be in another call by now, but it is in one.
            Seen::LongCall if self.exchange(turn, me.address()) => {
                self.remove_first();
                self.first().into_iter().for_each(Waiter::becomes_first);
                return true;
            }
            Seen::LongTurn if self.exchange(holder.address(), holder.address() | ASKED) => (self.request)(holder),
            _ => {}
        }
        false
    }

    /// Until the signal that was sent has arrived. If one of the app's with that number was on its way, it never does: so the thread sends it itself,
    /// and what is on its way to it has arrived when that call is over.
    fn wait_for_request(&self, me: &Waiter) {
        while !me.asked.swap(false, Ordering::AcqRel) {
            (self.request)(me);
        }
    }

    fn append(&self, me: &'static Waiter) {
        let place = (me as *const Waiter).cast_mut();
        me.next.store(null_mut(), Ordering::Relaxed);
        let last = self.last.swap(place, Ordering::Relaxed);
        // SAFETY: waiters live for ever.
        match unsafe { last.as_ref() } {
            Some(last) => last.next.store(place, Ordering::Relaxed),
            None => self.first.store(place, Ordering::Relaxed),
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
mod tests {
    use super::*;
    use crate::serial::threads::watch::PATIENCE;
    use std::cell::UnsafeCell;

    struct Shared(UnsafeCell<u64>);

    // SAFETY: that is what is tested.
    unsafe impl Sync for Shared {}

    /// Threads that add to one number, which is none of the atomic ones, with calls of all kinds between.
    #[test]
    fn one_at_a_time() {
        const THREADS: u64 = 4;
        const ROUNDS: u64 = 3000;
        static TURNS: Turns = Turns::new(Waiter::request_arrived);
        static SUM: Shared = Shared(UnsafeCell::new(0));
        let threads = (0..THREADS).map(|number| {
            std::thread::spawn(move || {
                let me: &'static Waiter = Box::leak(Box::new(Waiter::new()));
                TURNS.take(me);
                for round in 0..ROUNDS {
                    assert!(TURNS.is_held_by(me));
                    // SAFETY: it is this thread's turn.
                    unsafe { *SUM.0.get() += 1 };
                    if (round + number) % 3 == 0 || !TURNS.begin_call(me) {
                        TURNS.give(me);
                        TURNS.take(me);
                    } else {
                        if round % 500 == 0 {
                            std::thread::sleep(std::time::Duration::from_millis(1));
                        }
                        TURNS.end_call(me);
                    }
                }
                TURNS.give(me);
            })
        });
        threads.collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
        assert!(TURNS.holder().is_none());
        // SAFETY: all others have ended.
        assert_eq!(unsafe { *SUM.0.get() }, THREADS * ROUNDS);
    }

    /// Who never gives the turn up by itself is asked to.
    #[test]
    fn a_long_turn_is_asked_for() {
        static TURNS: Turns = Turns::new(Waiter::request_arrived);
        let me: &'static Waiter = Box::leak(Box::new(Waiter::new()));
        TURNS.take(me);
        let other = std::thread::spawn(|| {
            let me: &'static Waiter = Box::leak(Box::new(Waiter::new()));
            TURNS.take(me);
            TURNS.give(me);
        });
        while !me.asked.load(Ordering::Acquire) {
            std::hint::spin_loop();
        }
        assert!(TURNS.is_held_by(me) && !TURNS.begin_call(me));
        TURNS.give(me);
        other.join().unwrap();
        TURNS.take(me);
        assert!(TURNS.is_held_by(me) && TURNS.begin_call(me) && !TURNS.is_held_by(me));
        TURNS.end_call(me);
    }

    /// Who has asked itself isn't asked, by however many that wait.
    #[test]
    fn who_asks_itself_gets_no_request() {
        static TURNS: Turns = Turns::new(|_| panic!("a request"));
        let me: &'static Waiter = Box::leak(Box::new(Waiter::new()));
        TURNS.take(me);
        TURNS.ask_myself(me);
        TURNS.ask_myself(me);
        let other = std::thread::spawn(|| {
            let me: &'static Waiter = Box::leak(Box::new(Waiter::new()));
            TURNS.take(me);
            TURNS.give(me);
        });
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(TURNS.is_held_by(me) && TURNS.is_asked_for(me));
        TURNS.give(me);
        other.join().unwrap();
    }

    #[test]
    fn what_is_told_before_the_sleep_ends_it() {
        let waiter = Waiter::new();
        waiter.becomes_first();
        assert!(!waiter.sleep(std::ptr::null()));
        waiter.becomes_first();
        waiter.grant();
        waiter.becomes_first();
        assert!(waiter.sleep(std::ptr::null()));
    }

    #[test]
    fn a_call_loses_the_turn_at_the_second_look() {
        let mut watch = Watch::default();
        assert_eq!(watch.sees(64 | IN_CALL, 1), Seen::Nothing);
        assert_eq!(watch.sees(64 | IN_CALL, 2), Seen::Nothing);
        assert_eq!(watch.sees(64 | IN_CALL, 2), Seen::LongCall);
    }

    #[test]
    fn turns_are_limited_whatever_the_thread_does() {
        for bits in [0, IN_CALL] {
            let mut watch = Watch::default();
            let seen = (0..=PATIENCE + 1).map(|look| watch.sees(64 | bits, look.into())).collect::<Vec<_>>();
            let (last, before) = seen.split_last().unwrap();
            assert!(before[..PATIENCE as usize].iter().all(|seen| *seen == Seen::Nothing), "{seen:?}");
            assert_ne!(*last, Seen::Nothing);
        }
    }
}
