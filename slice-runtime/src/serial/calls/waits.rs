//! Which calls a thread makes without giving others its turn.

use syscall_replay::threads;
pub use syscall_replay::threads::{LastingCalls, Length};

use super::call::AppCall;

/// What is known of a call.
pub fn length_of(call: &AppCall) -> Length {
    threads::length_of(call.number, &call.args)
}
