//! Limits of this process, which are those of the app at its start and were meant for that alone.

use bubble::map::BUBBLE;
use syscall_replay::limits::to_kernel;

/// What this process may need more of than the app: descriptors of the files that the app maps, bytes in the run memory, processor time, memory,
/// signals that wait to be taken.
const RAISED: [libc::__rlimit_resource_t; 6] = [
    libc::RLIMIT_NOFILE,
    libc::RLIMIT_FSIZE,
    libc::RLIMIT_CPU,
    libc::RLIMIT_DATA,
    libc::RLIMIT_AS,
    libc::RLIMIT_SIGPENDING,
];

/// Raises them as far as the hard limits allow. Gives those that the app is to start with, where they differ: its own, that of its address
/// space with room for what is reserved there.
pub fn raise() -> Vec<(libc::__rlimit_resource_t, libc::rlimit)> {
    let mut of_app = Vec::new();
    for resource in RAISED {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is a valid place.
        if unsafe { libc::getrlimit(resource, &raw mut limit) } != 0 || limit.rlim_cur == limit.rlim_max {
            continue;
        }
        let raised = libc::rlimit { rlim_cur: limit.rlim_max, ..limit };
        // SAFETY: `raised` is a valid limit.
        if unsafe { libc::setrlimit(resource, &raw const raised) } == 0 {
            if resource == libc::RLIMIT_AS {
                limit.rlim_cur = to_kernel(limit.rlim_cur, BUBBLE.size).min(limit.rlim_max);
            }
            of_app.push((resource, limit));
        }
    }
    of_app
}
