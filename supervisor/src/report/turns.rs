//! Turns of the app's threads in slices: why they ended, and how many threads wanted to execute at once.

use std::time::Duration;

/// Where a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnEnded {
    /// In a call that waits.
    InCall,
    /// Behind a call.
    BehindCall,
    /// At the end of a slice.
    AtSliceEnd,
    /// With the thread.
    AtThreadEnd,
    /// In the midst of its code.
    AtPoint,
}

/// How often each came.
#[derive(Debug, Default)]
pub struct Turns {
    ended: [u64; 5],
    /// Turns that ended because the thread went round in a short loop.
    pub of_spinners: u64,
    /// CPU time of all.
    time: Duration,
    /// The same, times the threads that wanted to execute.
    threads_time: Duration,
}

impl Turns {
    /// A turn ended. It has lasted for so long, while so many others wanted it.
    pub fn ended(&mut self, how: TurnEnded, time: Duration, others: usize) {
        self.ended[how as usize] += 1;
        self.time += time;
        self.threads_time += time.saturating_mul(1 + others as u32);
    }

    /// So many ended in calls that wait, without a stop.
    pub fn passed_on(&mut self, times: u64) {
        self.ended[TurnEnded::InCall as usize] += times;
    }

    /// How many threads wanted to execute at once, on the average. `None`: nothing is known of that.
    pub fn threads_busy(&self) -> Option<f64> {
        (!self.time.is_zero()).then(|| self.threads_time.as_secs_f64() / self.time.as_secs_f64())
    }

    /// All of it, by name.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let names =
            ["turns_in_calls", "turns_behind_calls", "turns_at_slice_ends", "turns_at_thread_ends", "turns_at_points"];
        let mut lines: Vec<_> = names.into_iter().zip(self.ended.iter().map(u64::to_string)).collect();
        lines.push(("turns_of_spinners", self.of_spinners.to_string()));
        lines.extend(self.threads_busy().map(|threads| ("threads_busy", format!("{threads:.2}"))));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_threads_are_those_that_execute_or_want_to() {
        let mut turns = Turns::default();
        assert_eq!((turns.threads_busy(), turns.lines().len()), (None, 6));
        turns.ended(TurnEnded::InCall, Duration::from_millis(30), 0);
        turns.ended(TurnEnded::AtPoint, Duration::from_millis(10), 4);
        assert_eq!(turns.threads_busy(), Some(2.0));
        let lines = turns.lines();
        assert_eq!(lines[0], ("turns_in_calls", "1".to_owned()));
        assert_eq!(
            lines[4..],
            [("turns_at_points", "1"), ("turns_of_spinners", "0"), ("threads_busy", "2.00")]
                .map(|(name, value)| (name, value.to_owned()))
        );
    }
}
