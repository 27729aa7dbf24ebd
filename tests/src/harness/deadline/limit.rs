//! What a test may take: it grows with the machine's load, which is looked at again and again.

use std::cell::Cell;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// What a test may take on a machine that does nothing else: ten times what the longest one takes.
const USUAL: Duration = Duration::from_secs(180);

/// And on the busiest one.
const LONGEST: Duration = Duration::from_secs(1200);

/// How often it is looked at the load.
const LOOK: Duration = Duration::from_millis(500);

thread_local! {
    /// When this thread's test began.
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
    /// How many times [`USUAL`] it may take.
    static TIMES: Cell<u32> = const { Cell::new(1) };
}

/// What this thread waits for from now on may take so many times as long.
pub fn is_slow(times: u32) {
    TIMES.set(times);
}

/// The test of this thread begins now.
pub fn begin() {
    BEGAN.set(Some(Instant::now()));
}

/// When it began: at the first look where nobody has said so, since each test of the standard harness has a thread of its own. Where it hasn't (one at a
/// time is to run, on the first thread), each wait has the whole time.
fn began() -> Instant {
    let now = Instant::now();
    // SAFETY: gettid and getpid have no preconditions.
    let is_first_thread = unsafe { libc::gettid() == libc::getpid() };
    BEGAN.get().unwrap_or_else(|| {
        BEGAN.set(Some(now).filter(|_| !is_first_thread));
        now
    })
}

/// A duration on a machine that does nothing else, on this one.
pub fn stretched(idle: Duration) -> Duration {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = text.split_whitespace().take(2).filter_map(|load| load.parse::<f64>().ok()).fold(0.0, f64::max);
    let processors = thread::available_parallelism().map_or(1, usize::from) as f64;
    idle.mul_f64((load / processors).max(1.0))
}

/// A wait that was begun, and how long it may last.
pub struct Wait {
    test: Instant,
    since: Instant,
    /// The longest that was allowed so far: a load that falls again takes nothing back.
    limit: Duration,
    /// Whether the limit is the caller's own.
    is_fixed: bool,
}

impl Wait {
    /// One that ends at the deadline of this thread's test.
    pub fn begin() -> Self {
        Self { test: began(), since: Instant::now(), limit: USUAL * TIMES.get(), is_fixed: false }
    }

    /// One with a limit of its own.
    pub fn of(limit: Duration) -> Self {
        let now = Instant::now();
        Self { test: now, since: now, limit, is_fixed: true }
    }

    /// Whether it has lasted too long.
    pub fn is_over(&mut self) -> bool {
        if !self.is_fixed {
            let times = TIMES.get();
            self.limit = self.limit.max(stretched(USUAL * times)).min(LONGEST * times);
        }
        self.test.elapsed() >= self.limit
    }

    /// Until the next look.
    pub fn step(&self) -> Duration {
        LOOK.min(self.limit.saturating_sub(self.test.elapsed()))
    }

    /// What there is to tell when it is over.
    pub fn told(&self, what: &str) -> String {
        let (waited, limit) = (self.since.elapsed().as_secs_f32(), self.limit.as_secs());
        format!("the test's deadline of {limit} s is over; for the last {waited:.1} s it waited for {what}")
    }
}

/// Lets this thread's test be late.
#[cfg(test)]
pub fn be_late() {
    BEGAN.set(Instant::now().checked_sub(LONGEST));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_has_more_time() {
        assert!(stretched(USUAL) >= USUAL);
        let mut wait = Wait::begin();
        wait.test = Instant::now().checked_sub(LONGEST).unwrap();
        assert!(wait.is_over());
    }
}
