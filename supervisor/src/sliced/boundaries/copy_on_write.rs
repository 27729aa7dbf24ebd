//! What the boundaries themselves cost the app: after each, the first write to a page that a slice shares is a fault in which the
//! kernel copies it.
//!
//! An app that writes to much memory, as sort(1) does, spends most of a short slice's CPU time there. Were that counted as time of the slice, it would be cut
//! after little work of its own, and all the more faults would come: a sort of 100 MB, 2.6 s natively, was cut into 150 to 185 slices of 50 ms.

use std::time::Duration;

/// What a fault costs at most, the copy included. Two to four microseconds are usual in a virtual machine, a half to one outside.
const FAULT: Duration = Duration::from_micros(5);
/// A slice's CPU time is at most so many times what was asked for.
const MOST: u32 = 4;

/// CPU time and faults of a process so far.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sliced) struct CpuUsage {
    /// CPU time.
    pub cpu: Duration,
    /// What of it was spent in the kernel. It advances in hundredths of a second.
    pub kernel: Duration,
    /// Page faults that needed no reading.
    pub faults: u64,
}

impl CpuUsage {
    /// What a process has done that has used this much CPU time. Without /proc nothing else is known.
    pub(in crate::sliced) fn of(pid: i32, cpu: Duration) -> Self {
        let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        Self::parse(&line, cpu).unwrap_or(Self { cpu, ..Self::default() })
    }

    fn parse(line: &str, cpu: Duration) -> Option<Self> {
        // The name may contain anything. After it come the fields from the third on: the 10th are the faults, the 15th is the kernel's time.
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_ascii_whitespace().collect();
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self { cpu, kernel: Duration::from_millis(number(15)? * 10), faults: number(10)? })
    }

    /// What was spent on copying at most since `start`, by the number of faults.
    pub(in crate::sliced) fn most_copying(self, start: Self) -> Duration {
        let faults = self.faults.saturating_sub(start.faults).try_into().unwrap_or(u32::MAX);
        FAULT.saturating_mul(faults)
    }

    /// More CPU time that a slice is to have which began at `start` and is to do work for `wanted`. `None` if it has had enough.
    pub(in crate::sliced) fn still_wanted(self, start: Self, wanted: Duration) -> Option<Duration> {
        let cpu = self.cpu.saturating_sub(start.cpu);
        let copying = self.most_copying(start).min(self.kernel.saturating_sub(start.kernel)).min(cpu);
        let work = cpu - copying;
        let left = (wanted * MOST).saturating_sub(cpu);
        if work >= wanted || left.is_zero() {
            return None;
        }
        // It will go on to copy as much.
        let rate = cpu.as_secs_f64() / work.as_secs_f64();
        let more = (wanted - work).as_secs_f64() * rate;
        Some(if more < left.as_secs_f64() { Duration::from_secs_f64(more) } else { left })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn after(cpu: u64, kernel: u64, faults: u64) -> Option<Duration> {
        let start = CpuUsage { cpu: ms(1000), kernel: ms(100), faults: 7 };
        CpuUsage { cpu: ms(1000 + cpu), kernel: ms(100 + kernel), faults: 7 + faults }.still_wanted(start, ms(50))
    }

    #[test]
    fn work_counts_and_copying_does_not() {
        assert_eq!(after(50, 0, 1_000_000), None);
        assert_eq!(after(50, 40, 0), None);
        // A half was copying, and will be.
        assert_eq!(after(50, 30, 5000), Some(ms(50)));
        assert_eq!(after(100, 50, 100_000), None);
    }

    #[test]
    fn a_slice_is_at_most_four_times_as_long() {
        assert_eq!(after(150, 150, 1_000_000), Some(ms(50)));
        assert_eq!(after(200, 200, 1_000_000), None);
    }

    #[test]
    fn a_line_of_proc_is_read() {
        let line = "7 (a) b) S 1 2 3 4 5 6 8765 8 9 10 11 12 13";
        let usage = CpuUsage::parse(line, ms(3)).unwrap();
        assert_eq!((usage.cpu, usage.kernel, usage.faults), (ms(3), ms(120), 8765));
        assert!(CpuUsage::parse("7 (a", ms(3)).is_none());
        let me = CpuUsage::of(std::process::id() as i32, ms(3));
        assert!(me.faults > 0);
    }
}
