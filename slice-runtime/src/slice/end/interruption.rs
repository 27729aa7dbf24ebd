//! Timers that interrupt the engine.

use std::io;
use std::time::Duration;

/// The part of the slice's own CPU time for which it is watched.
const PART: u32 = 32;
/// Bounds of that time.
const SHORTEST: Duration = Duration::from_micros(200);
const LONGEST: Duration = Duration::from_millis(20);

/// For how long it is watched whether a state recurs that the app has come to in that time.
pub fn watched_for(time: Duration) -> Duration {
    (time / PART).clamp(SHORTEST, LONGEST)
}

/// Interrupts the engine when this process has used so much more CPU time. An earlier setting is forgotten.
///
/// # Errors
/// If there is no timer to be had.
pub fn after(time: Duration) -> io::Result<()> {
    set(time, libc::ITIMER_PROF, libc::SIGPROF)
}

/// The same by the wall clock, which is finer.
///
/// # Errors
/// As above.
pub fn after_wall(time: Duration) -> io::Result<()> {
    set(time, libc::ITIMER_REAL, libc::SIGALRM)
}

fn set(time: Duration, clock: libc::c_int, signal: i32) -> io::Result<()> {
    // With none the timer would never ring.
    let time = time.max(Duration::from_micros(1));
    engine::on_signal(|_, _, _| {
        engine::interrupt();
        true
    });
    engine::install_signal(signal, 0)?;
    let value = libc::timeval { tv_sec: time.as_secs() as i64, tv_usec: i64::from(time.subsec_micros()) };
    let never = libc::timeval { tv_sec: 0, tv_usec: 0 };
    let timer = libc::itimerval { it_interval: never, it_value: value };
    let mut set = std::mem::MaybeUninit::uninit();
    // SAFETY: the set is initialised by sigemptyset before use, and the timer is a valid one.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), signal);
        if libc::sigprocmask(libc::SIG_UNBLOCK, set.as_ptr(), std::ptr::null_mut()) != 0
            || libc::setitimer(clock, &raw const timer, std::ptr::null_mut()) != 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}
