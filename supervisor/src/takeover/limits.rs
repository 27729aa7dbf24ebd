//! Resource limits of a slice.
//!
//! It inherits those of the app, and the app's calls that change them are only replayed. What the app may not do the master was refused; a slice
//! does the same with the image beside it, and a stack that the app has been allowed meanwhile. So as far as it may it gets no limits.

/// Those that could stop a slice.
const LIFTED: [libc::__rlimit_resource_t; 6] =
    [libc::RLIMIT_AS, libc::RLIMIT_DATA, libc::RLIMIT_STACK, libc::RLIMIT_CPU, libc::RLIMIT_FSIZE, libc::RLIMIT_NOFILE];

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
