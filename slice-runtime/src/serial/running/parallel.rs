//! Threads with windows run translated code at the same time. What they share is used by who has the turn, as ever: a thread gives the turn up when it goes into the code cache, and
//! takes it when it has come out.
//!
//! ```text
//!   runtime, with the turn ── enters ──▶ in the cache ── leaves ──▶ waits for the turn ──▶ runtime
//!                                            ▲ kick: a signal brings it out
//!   stop_others ─────────────────────────────┘        until no other thread is *inside*
//! ```
//! Named invariant *inside*: a thread is inside from where it goes into the cache to where it refers to no place there any more. Who stops the others passes the turn on until none is, and none goes
//! in again before it lets them. Who doesn't have the turn then is in a call of the app's, or waits for the turn.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use super::shared_state::with_turn;
use crate::ports::raw_syscall;
use crate::serial::host::SerialHost;
use crate::serial::threads::{TURNS, ThreadBlock, request};

/// The thread block of who stops the others; 0: nobody does. Changed with the turn only.
static STOPPED_BY: AtomicU64 = AtomicU64::new(0);

/// The calling thread is in this thread block from now on, and has a window.
pub fn begins(me: &'static ThreadBlock) {
    engine::host_word().store(address_of(me), Ordering::Relaxed);
}

/// The calling thread is about to run translated code: others may have the turn meanwhile.
pub fn enters_cache() {
    let me = of_window();
    me.lane.is_inside.store(true, Ordering::Relaxed);
    me.lane.in_cache.store(true, Ordering::SeqCst);
    TURNS.enter_cache(&me.waiter);
}

/// If it has given the turn up for that: it has left it, and waits for the turn.
pub fn leaves_cache() {
    let me = of_window();
    if !me.lane.in_cache.load(Ordering::Relaxed) {
        return;
    }
    me.lane.in_cache.store(false, Ordering::SeqCst);
    if TURNS.leave_cache(&me.waiter) {
        // Nobody has had it.
        return;
    }
    if me.lane.is_kicked.swap(false, Ordering::Relaxed) {
        TURNS.wait_for_request(&me.waiter);
    }
    reload(me);
}

/// Nothing of the calling thread's, which has the turn, refers to the cache any more.
pub fn is_out(me: &ThreadBlock) {
    me.lane.is_inside.store(false, Ordering::Relaxed);
}

/// Whether another thread waits for that.
pub fn is_awaited() -> bool {
    let by = STOPPED_BY.load(Ordering::Relaxed);
    by != 0 && by != address_of(of_window())
}

/// Waits until no other thread stops this one, which has the turn.
pub fn stands_still(host: &mut SerialHost) {
    let me = of_window();
    is_out(me);
    while is_awaited() {
        pass(me);
    }
    black_box(host);
}

/// Returns, with the turn, when no other thread is inside. None will be before [`lets_go`]. What the threads share may have changed: the host is asked for so that nobody takes that for as it was.
pub fn stop_others(host: &mut SerialHost) {
    let host = black_box(host);
    if !host.have_windows() {
        return;
    }
    stands_still(host);
    let me = of_window();
    STOPPED_BY.store(address_of(me), Ordering::Relaxed);
    loop {
        let inside = with_turn(me, |shared| shared.host.threads.inside(me));
        if inside.is_empty() {
            break;
        }
        for other in inside.into_iter().filter(|other| other.lane.in_cache.load(Ordering::SeqCst)) {
            if !other.lane.is_kicked.swap(true, Ordering::Relaxed) {
                request(&other.waiter);
            }
        }
        pass(me);
    }
}

/// See [`stop_others`].
pub fn lets_go() {
    STOPPED_BY.store(0, Ordering::Relaxed);
}

/// Lets others have the turn, which the calling thread has again when this returns.
fn pass(me: &'static ThreadBlock) {
    TURNS.give(&me.waiter);
    raw_syscall(libc::SYS_sched_yield as u64, [0; 6]);
    TURNS.take(&me.waiter);
    reload(me);
}

/// What the threads share is the calling thread's again.
fn reload(me: &'static ThreadBlock) {
    with_turn(me, |_| ());
}

/// The thread block of the calling thread, which has a window.
fn of_window() -> &'static ThreadBlock {
    // SAFETY: `begins` has put it there, and thread blocks stay.
    unsafe { &*(engine::host_word().load(Ordering::Relaxed) as *const ThreadBlock) }
}

fn address_of(block: &ThreadBlock) -> u64 {
    std::ptr::from_ref(block) as u64
}
