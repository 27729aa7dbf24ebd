//! Limits of this process, which are those of the app at its start and were meant for that alone.

use std::sync::OnceLock;

use bubble::map::{BUBBLE, file};
use bubble::shared::MAX_SLOTS;
use syscall_replay::limits::to_kernel;

use crate::base::Failure;

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

/// The soft limit of its address space with which the app is started, and the one that was meant for it.
static APP_SPACE: OnceLock<[u64; 2]> = OnceLock::new();

/// The soft limit of its address space with which the app is started, and the one that was meant for it; nothing if they are the same.
pub fn of_app_space() -> Option<[u64; 2]> {
    APP_SPACE.get().copied()
}

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
                let meant = limit.rlim_cur;
                limit.rlim_cur = to_kernel(meant, BUBBLE.size).min(limit.rlim_max);
                // It is raised once.
                let _ = APP_SPACE.set([limit.rlim_cur, meant]);
            }
            of_app.push((resource, limit));
        }
    }
    of_app
}

/// What no run can do without, how shells name its limit, and what it is.
const LEAST: [(libc::__rlimit_resource_t, u64, &str, &str); 3] = [
    (
        libc::RLIMIT_AS,
        BUBBLE.size + (64 << 20),
        "ulimit -Hv",
        "bytes of address space, most of which is reserved and never used",
    ),
    (
        libc::RLIMIT_DATA,
        (5 << 28) + (64 << 20),
        "ulimit -Hd",
        "bytes of private memory, most of which is reserved and never used",
    ),
    (libc::RLIMIT_NOFILE, 12, "ulimit -Hn", "open files"),
];

/// Looks whether the hard limits allow a run at all.
///
/// # Errors
/// Which doesn't, and what is needed.
pub fn check() -> Result<(), Failure> {
    for (resource, needed, option, what) in LEAST {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is a valid place.
        if unsafe { libc::getrlimit(resource, &raw mut limit) } == 0 && limit.rlim_max < needed {
            let (given, needed) = (of_limit(limit.rlim_max), of_limit(needed));
            return Err(Failure::Unsupported(format!(
                "`{option}` is too low here: superpin needs {needed} {what}, and {given} are allowed"
            )));
        }
    }
    Ok(())
}

/// A number as it is read best.
fn of_limit(number: u64) -> String {
    const GIB: u64 = 1 << 30;
    if number < GIB / 64 { number.to_string() } else { format!("{:.2} Gi", number as f64 / GIB as f64) }
}

/// What a run needs at least of what may be limited, and how shells name the limit.
const NEEDED: [(libc::__rlimit_resource_t, u64, &str); 6] = [
    (libc::RLIMIT_AS, BUBBLE.size, "-v"),
    (libc::RLIMIT_DATA, 5 << 28, "-d"),
    (libc::RLIMIT_FSIZE, file::size(MAX_SLOTS), "-f"),
    (libc::RLIMIT_NOFILE, 64, "-n"),
    (libc::RLIMIT_NPROC, 16, "-u"),
    (libc::RLIMIT_SIGPENDING, 64, "-i"),
];

/// If the kernel has refused something: what limits of this process are so low that this may be why.
pub fn behind(failure: &Failure) -> Option<String> {
    if !matches!(failure, Failure::System { .. } | Failure::Trace(_) | Failure::Slice { .. } | Failure::Serial(_)) {
        return None;
    }
    let is_tight = |resource, needed| {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: `limit` is a valid place.
        unsafe { libc::getrlimit(resource, &raw mut limit) == 0 && limit.rlim_cur < needed }
    };
    let tight = NEEDED.into_iter().filter(|(resource, needed, _)| is_tight(*resource, *needed));
    let names: Vec<String> = tight.map(|(_, _, option)| format!("`ulimit {option}`")).collect();
    (!names.is_empty()).then(|| format!("a limit may be the reason: see {}", names.join(", ")))
}
