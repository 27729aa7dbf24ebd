//! Resource limits of a slice.
//!
//! A slice inherits the app's limits, and the app's calls that change them are only replayed. But it needs more than the app: the image lies beside the app,
//! and the app's stack may have been allowed to grow meanwhile. What the app may not do, the master was refused already. So a slice gets no limits, as far as it may lift them.

/// Those that could stop a slice.
const LIFTED: [libc::__rlimit_resource_t; 6] =
    [libc::RLIMIT_AS, libc::RLIMIT_DATA, libc::RLIMIT_STACK, libc::RLIMIT_CPU, libc::RLIMIT_FSIZE, libc::RLIMIT_NOFILE];

/// Files that a process opens at the same time while it is taken over, and a few more.
const OPENED: u64 = 8;

/// Makes room for them in a process that has as many files open as it may. Gives its limit from before, if another one was set.
pub fn lend_descriptors(pid: i32) -> Option<[u64; 2]> {
    let mut old = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a valid place for the old limit.
    let known = unsafe { libc::prlimit(pid, libc::RLIMIT_NOFILE, std::ptr::null(), &raw mut old) == 0 };
    let numbers = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let open = numbers.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u64>().ok());
    let below = open.filter(|number| *number < old.rlim_cur).count() as u64;
    if !known || below + OPENED <= old.rlim_cur {
        return None;
    }
    let soft = old.rlim_cur.saturating_add(OPENED);
    // Without privileges no more than the hard limit.
    let set = |soft: u64, hard: u64| {
        let new = libc::rlimit { rlim_cur: soft, rlim_max: hard };
        // SAFETY: a valid limit, and nowhere to write to.
        unsafe { libc::prlimit(pid, libc::RLIMIT_NOFILE, &raw const new, std::ptr::null_mut()) == 0 }
    };
    let is_set = set(soft, old.rlim_max.max(soft)) || set(old.rlim_max, old.rlim_max);
    is_set.then_some([old.rlim_cur, old.rlim_max])
}

/// Lifts the limits of a process as far as possible: without privileges up to the hard ones.
pub fn lift(pid: i32) {
    for resource in LIFTED {
        let mut old = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        let set = |value| {
            let new = libc::rlimit { rlim_cur: value, rlim_max: value };
            // SAFETY: a valid limit, and nowhere to write to.
            unsafe { libc::prlimit(pid, resource, &raw const new, std::ptr::null_mut()) == 0 }
        };
        // SAFETY: a valid place for the old limit.
        let known = unsafe { libc::prlimit(pid, resource, std::ptr::null(), &raw mut old) == 0 };
        if known && old.rlim_cur != libc::RLIM_INFINITY && !set(libc::RLIM_INFINITY) {
            set(old.rlim_max);
        }
    }
}
