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
