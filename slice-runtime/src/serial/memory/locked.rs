//! Memory that the app locks all at once. Ours is locked page by page when it is used, and never filled: that would take gigabytes.

use std::sync::atomic::{AtomicBool, Ordering};

use syscall_replay::is_error;

use super::maps;
use crate::ports::raw_syscall;

/// What the app maps from now on is there at once. It belongs to the process, like its break.
static FILLS: AtomicBool = AtomicBool::new(false);

/// `mlockall`.
pub fn lock_all(flags: u64) -> u64 {
    let has = |flag: i32| flags as i32 & flag != 0;
    if !has(libc::MCL_CURRENT | libc::MCL_FUTURE) {
        return raw_syscall(libc::SYS_mlockall as u64, [flags, 0, 0, 0, 0, 0]);
    }
    let on_fault = flags | libc::MCL_ONFAULT as u64;
    let result = raw_syscall(libc::SYS_mlockall as u64, [on_fault, 0, 0, 0, 0, 0]);
    if !is_error(result) {
        FILLS.store(has(libc::MCL_FUTURE) && !has(libc::MCL_ONFAULT), Ordering::Relaxed);
        if has(libc::MCL_CURRENT) && !has(libc::MCL_ONFAULT) {
            maps::apps().into_iter().for_each(|[start, end]| fill(start, end - start));
        }
    }
    result
}

/// The app goes on natively.
pub fn leaves() {
    if FILLS.swap(false, Ordering::Relaxed) {
        raw_syscall(libc::SYS_mlockall as u64, [libc::MCL_FUTURE as u64, 0, 0, 0, 0, 0]);
    }
}

/// `munlockall`.
pub fn unlock_all() -> u64 {
    FILLS.store(false, Ordering::Relaxed);
    raw_syscall(libc::SYS_munlockall as u64, [0; 6])
}

/// The app has got this memory.
pub fn is_mapped(start: u64, len: u64) {
    if FILLS.load(Ordering::Relaxed) {
        fill(start, len);
    }
}

/// What was to be locked when it is used is there at once. What can't be stays as it is, as with `mlockall`.
fn fill(start: u64, len: u64) {
    raw_syscall(libc::SYS_mlock as u64, [start, len, 0, 0, 0, 0]);
}
