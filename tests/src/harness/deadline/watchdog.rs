//! Deadlines for the tests of the standard harness, which knows none: for those that wait in their own process, where nobody else can end the wait.
//!
//! A crate whose unit tests are to be watched says `suites::watch_tests!()` in its `#[cfg(test)]` part. The harness does each test in a thread of its own, with the
//! test's name; the watchdog looks at how old these are. (With `--test-threads=1` there are none.)

use std::fs;
use std::path::Path;
use std::process;
use std::thread;
use std::time::Duration;

use super::limit::stretched;
use super::processes::{describe, family, kill};

/// What a test may take on a machine that does nothing else: many times what the longest one takes.
const USUAL: Duration = Duration::from_secs(180);

/// Watches the tests of the crate that it stands in.
#[macro_export]
macro_rules! watch_tests {
    () => {
        // SAFETY: functions in this section are called before `main`, on the first thread; the C library, which threads need, is ready by then.
        #[used]
        #[unsafe(link_section = ".init_array")]
        static WATCHDOG: extern "C" fn() = $crate::deadline::watchdog::start;
    };
}

/// Starts the watchdog of this process.
pub extern "C" fn start() {
    // Where no thread can be made the harness says so.
    let _ = thread::Builder::new().name("watchdog".to_owned()).spawn(|| {
        take_no_signals();
        loop {
            thread::sleep(Duration::from_secs(1));
            if let Some(told) = overdue(stretched(USUAL)) {
                eprintln!("{told}");
                let mut others = family(process::id());
                others.remove(&process::id());
                kill(&others);
                process::abort();
            }
        }
    });
}

/// Signals to the process are its tests'.
fn take_no_signals() {
    // SAFETY: a set is plain bits, which the first call sets; the second one changes this thread alone.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
    }
}

/// What there is to tell of a test that has been running for so long.
fn overdue(limit: Duration) -> Option<String> {
    let me = process::id();
    let tasks = fs::read_dir("/proc/self/task").ok()?.flatten();
    let mut threads = tasks.map(|entry| entry.path()).filter(|path| !path.ends_with(me.to_string()));
    let (path, name) = threads.find_map(|path| {
        let name = fs::read_to_string(path.join("comm")).ok()?.trim().to_owned();
        (name != "watchdog" && age(&path)? > limit).then_some((path, name))
    })?;
    let read = |what: &str| fs::read_to_string(path.join(what)).unwrap_or_default().trim().to_owned();
    Some(format!(
        "the test whose name begins with `{name}` has been running for more than {} s: wchan {}, system call {}. The processes are\n{}",
        limit.as_secs(),
        read("wchan"),
        read("syscall"),
        describe(&family(me)),
    ))
}

/// How long ago a thread was started.
fn age(task: &Path) -> Option<Duration> {
    let stat = fs::read_to_string(task.join("stat")).ok()?;
    let started: u64 = stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()?;
    let uptime: f64 = fs::read_to_string("/proc/uptime").ok()?.split_whitespace().next()?.parse().ok()?;
    // SAFETY: sysconf has no preconditions.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) } as f64;
    Duration::try_from_secs_f64(uptime - started as f64 / ticks).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::watch_tests!();

    #[test]
    fn a_test_that_is_late_is_named() {
        thread::sleep(Duration::from_millis(50));
        // Or another one that runs at the same time.
        assert!(overdue(Duration::ZERO).unwrap().contains("the test whose name begins with"));
        assert_eq!(overdue(Duration::from_secs(100_000)), None);
    }

    #[test]
    fn the_watchdog_runs() {
        let is_it = |path: &Path| fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "watchdog");
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        assert!(tasks.flatten().any(|entry| is_it(&entry.path())));
    }
}
