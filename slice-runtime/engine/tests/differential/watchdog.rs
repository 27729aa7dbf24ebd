//! A program that doesn't end, or makes the engine panic, is named by its seed.

use std::sync::Once;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The seed that is being run, for the watchdog.
pub static CURRENT: AtomicU64 = AtomicU64::new(0);

/// CPU time that a program and its interruptions may take: a large multiple of what they need.
const LONGEST: Duration = Duration::from_secs(100);

/// Names the seed of a program that makes the engine panic, and ends the process with a message if one program doesn't end. What counts is the
/// CPU time: a busy machine may let this process wait for any time.
pub fn watch() {
    static WATCHDOG: Once = Once::new();
    WATCHDOG.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            eprintln!("while the program of SUPERPIN_SEED={} was run:", CURRENT.load(Ordering::Relaxed));
            usual(info);
        }));
        std::thread::spawn(|| {
            let (mut seen, mut since) = (0, Duration::ZERO);
            loop {
                std::thread::sleep(Duration::from_secs(5));
                let (now, used) = (CURRENT.load(Ordering::Relaxed), cpu_time());
                if now == 0 || now != seen {
                    (seen, since) = (now, used);
                } else if used - since > LONGEST {
                    eprintln!("the program of SUPERPIN_SEED={now} doesn't end");
                    std::process::abort();
                }
            }
        });
    });
}

fn cpu_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a valid place for the time.
    let r = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    assert_eq!(r, 0, "{}", std::io::Error::last_os_error());
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
