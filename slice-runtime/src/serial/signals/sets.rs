//! Sets of signals.

/// A set with one signal.
pub const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Signals that the engine must always get: they say what an instruction did.
pub const FAULTS: u64 =
    bit(libc::SIGSEGV) | bit(libc::SIGBUS) | bit(libc::SIGFPE) | bit(libc::SIGILL) | bit(libc::SIGTRAP);
