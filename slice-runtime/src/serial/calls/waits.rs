//! Which calls a thread makes without giving others its turn.

use std::sync::atomic::{AtomicU8, Ordering};

use syscall_replay::threads;
pub use syscall_replay::threads::Length;

use super::call::AppCall;

/// What is known of a call.
pub fn length_of(call: &AppCall) -> Length {
    threads::length_of(call.number, &call.args)
}

/// Calls that lasted although most of their kind are short: a read of a pipe, say, which nobody has written to. They are known by
/// their numbers and first arguments.
pub struct LastingCall {
    /// How many more of them are taken for long ones; then one is tried again.
    left: [AtomicU8; 64],
}

impl LastingCall {
    const TAKEN_FOR_LONG: u8 = 64;

    /// None has.
    pub const fn new() -> Self {
        Self { left: [const { AtomicU8::new(0) }; 64] }
    }

    fn of(&self, call: &AppCall) -> &AtomicU8 {
        let mixed = (call.number << 32 ^ call.args[0]).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.left[(mixed >> 58) as usize]
    }

    /// The call has lasted.
    pub fn note(&self, call: &AppCall) {
        self.of(call).store(Self::TAKEN_FOR_LONG, Ordering::Relaxed);
    }

    /// Whether the call is likely to last.
    pub fn expects(&self, call: &AppCall) -> bool {
        let left = self.of(call);
        let before = left.load(Ordering::Relaxed);
        left.store(before.saturating_sub(1), Ordering::Relaxed);
        before > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_lasted_is_expected_to_for_a_while() {
        let read = |fd: u64| AppCall { number: libc::SYS_read as u64, args: [fd, 0, 0, 0, 0, 0] };
        let lasting = LastingCall::new();
        assert!(!lasting.expects(&read(3)));
        lasting.note(&read(3));
        let expected = (0..200).take_while(|_| lasting.expects(&read(3))).count();
        assert_eq!(expected, usize::from(LastingCall::TAKEN_FOR_LONG));
        assert!(!lasting.expects(&read(4)));
    }
}
