//! The hook that the engine calls when a signal arrives: it takes note, and blocks all others until the app has got that one.
//!
//! The real mask is the app's (without the fault signals, which the engine needs), so the kernel queues, orders and
//! reports blocked signals as it always does. When one arrives, the hook stores it and makes the handler
//! return with everything blocked: there is never more than one signal between the kernel and the app.

use std::sync::atomic::Ordering;

use super::threads::{TURNS, of_signal_stack};
use super::{departure, turns};
use crate::serial::calls::abort_at;
use crate::serial::signals::FAULTS;

/// The engine's hook.
pub fn hook(signal: i32, info: &libc::siginfo_t, context: &mut libc::ucontext_t) -> bool {
    let block = of_signal_stack();
    // In the cache it doesn't need the turn.
    let has_turn = TURNS.is_held_by(&block.waiter) || block.lane.in_cache.load(Ordering::SeqCst);
    let is_asked = TURNS.is_asked_for(&block.waiter) || block.lane.is_kicked.load(Ordering::Relaxed);
    if turns::is_request(signal, info, is_asked) {
        if has_turn {
            engine::interrupt();
        }
        block.waiter.request_arrived();
        return has_turn;
    }
    if departure::is_request(signal, info) {
        if has_turn || is_asked {
            engine::interrupt();
        }
        return has_turn || is_asked;
    }
    if block.arrivals.holds_back(signal) {
        block.arrivals.hold(signal, info);
        // It may stand for a request with the same number, which then doesn't come.
        if is_asked {
            engine::interrupt();
        }
        return is_asked;
    }
    block.arrivals.arrive(signal, info);
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
