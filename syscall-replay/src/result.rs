//! What results mean.

/// Whether a result is `-errno`.
pub fn is_error(result: u64) -> bool {
    result > -4096_i64 as u64
}

/// Results between -512 and -516 never reach user code: the kernel makes the call again, or turns it into `EINTR`
/// when a signal handler runs.
pub fn is_restart(result: u64) -> bool {
    (-516..=-512).contains(&(result as i64))
}

/// The call by which one goes on that the kernel was to make again with this result ([`is_restart`]): itself, or `restart_syscall`, which knows how much of a time is left.
pub fn restarted_by(result: u64, number: u64) -> u64 {
    const RESTART_BLOCK: u64 = -516_i64 as u64;
    if result == RESTART_BLOCK { libc::SYS_restart_syscall as u64 } else { number }
}
