//! The time stamp counter, computed from the kernel's raw clock.
//!
//! The recorder inside the master ([`crate::sliced::recorder`]) reads the counter for the app, whose own readings trap. To allow and forbid the
//! instruction around each reading costs two system calls that change a control register, which a hypervisor may have to see: 9 us where
//! that was measured. The raw clock (`CLOCK_MONOTONIC_RAW`) is the counter itself in nanoseconds, read by one call of 0.15 us. So
//!
//! ```text
//! ticks = base ticks + (raw - base raw) * ticks per nanosecond
//! ```
//!
//! The base and the factor are measured anew each time that the master is handed over to the recorder. What an app reads never goes back:
//! from the first such time on, the control process answers its readings in the same way.

use crate::base::with_counter;

/// The time stamp counter itself, and the number of the processor and its node.
pub fn true_ticks() -> (u64, u32) {
    let mut processor = 0;
    // SAFETY: every x86-64 CPU with PR_SET_TSC has both instructions; `processor` is a valid place.
    let ticks = with_counter(|| unsafe { std::arch::x86_64::__rdtscp(&mut processor) });
    (ticks, processor)
}

/// Bits of the factor's fraction.
pub const FRACTION: u32 = 32;
/// The clock that isn't steered by anybody: Linux computes it from the counter.
pub const CLOCK: libc::clockid_t = libc::CLOCK_MONOTONIC_RAW;
/// A factor is measured over at least so many nanoseconds.
const LEAST_NS: u64 = 2_000_000;
/// A pair of readings is taken so often, and the closest counts.
const TRIES: usize = 5;

/// The counter and the clock at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Pair {
    ticks: u64,
    ns: u64,
}

impl Pair {
    fn now() -> Self {
        let take = |_| {
            let before = true_ticks().0;
            let ns = raw_ns();
            let after = true_ticks().0;
            (after.wrapping_sub(before), Self { ticks: before + after.wrapping_sub(before) / 2, ns })
        };
        let closest = (0..TRIES).map(take).min_by_key(|(distance, _)| *distance);
        closest.expect("it is tried").1
    }
}

/// From when on, and how fast, the counter is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The counter at the base.
    pub ticks: u64,
    /// The raw clock there, in nanoseconds.
    pub ns: u64,
    /// Ticks in a nanosecond, with [`FRACTION`] bits of fraction.
    pub per_ns: u64,
}

impl Line {
    /// The counter when the raw clock says `ns`, as the recorder computes it.
    fn at(&self, ns: u64) -> u64 {
        let ticks = (u128::from(ns.wrapping_sub(self.ns)) * u128::from(self.per_ns)) >> FRACTION;
        self.ticks.wrapping_add(ticks as u64)
    }
}

/// The counter of one app.
#[derive(Debug)]
pub struct Counter {
    first: Pair,
    line: Option<Line>,
}

impl Counter {
    /// It is the processor's until it is computed for the first time.
    pub fn new() -> Self {
        Self { first: Pair::now(), line: None }
    }

    /// What the app reads now, and the number of the processor and its node that `rdtscp` gives.
    pub fn read(&self) -> (u64, u32) {
        let (ticks, processor) = true_ticks();
        (self.line.map_or(ticks, |line| line.at(raw_ns())), processor)
    }

    /// Measures anew how it is computed from now on.
    pub fn measure(&mut self) -> Line {
        let mut now = Pair::now();
        while now.ns - self.first.ns < LEAST_NS {
            std::thread::sleep(std::time::Duration::from_nanos(LEAST_NS));
            now = Pair::now();
        }
        let line = line(self.first, now, self.line);
        self.line = Some(line);
        line
    }
}

fn line(first: Pair, now: Pair, before: Option<Line>) -> Line {
    let ticks = u128::from(now.ticks.wrapping_sub(first.ticks)) << FRACTION;
    let per_ns = (ticks / u128::from(now.ns - first.ns)) as u64;
    let reached = before.map_or(0, |before| before.at(now.ns));
    Line { ticks: now.ticks.max(reached), ns: now.ns, per_ns }
}

/// The raw clock. By the system call itself, since libc's function reads the counter, which may trap.
fn raw_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    unsafe { libc::syscall(libc::SYS_clock_gettime, CLOCK, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_computed_is_close_to_what_is_there_and_never_goes_back() {
        let mut counter = Counter::new();
        let mut last = counter.read().0;
        for _ in 0..20 {
            let line = counter.measure();
            for _ in 0..100 {
                let now = counter.read().0;
                assert!(now >= last);
                last = now;
            }
            let (before, computed, after) = (true_ticks().0, counter.read().0, true_ticks().0);
            let millisecond = ((u128::from(line.per_ns) * 1_000_000) >> FRACTION) as u64;
            let close = before - millisecond..after + millisecond;
            assert!(close.contains(&computed), "{before} {computed} {after} {line:?}");
        }
    }

    #[test]
    fn a_line_begins_where_the_last_one_has_come_to() {
        let first = Pair { ticks: 1000, ns: 0 };
        let half = line(first, Pair { ticks: 6000, ns: 10_000 }, None);
        assert_eq!(half, Line { ticks: 6000, ns: 10_000, per_ns: 1 << (FRACTION - 1) });
        assert_eq!((half.at(10_000), half.at(10_003), half.at(1 << 50)), (6000, 6001, 6000 + (1 << 49) - 5000));
        // The counter itself has come less far.
        let slower = line(first, Pair { ticks: 10_900, ns: 20_000 }, Some(half));
        assert_eq!((slower.ticks, slower.per_ns < half.per_ns), (11_000, true));
        let faster = line(first, Pair { ticks: 11_100, ns: 20_000 }, Some(half));
        assert_eq!(faster.ticks, 11_100);
    }
}
