//! How a run gets on, in a line for a person who waits for it.

use std::time::Duration;

/// Where a sliced run stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveStatus {
    /// The app has run for so long.
    pub app: Duration,
    /// It has ended, so long ago.
    pub ended: Option<Duration>,
    /// Slices that have begun.
    pub begun: u64,
    /// Slices that run: for how long.
    pub running: Vec<Duration>,
    /// Slices whose ends are known, and that wait for others.
    pub waiting: usize,
    /// Slices whose results are a part of the total.
    pub merged: u64,
    /// Slices that run at a time at most.
    pub limit: usize,
    /// For so long a slice has run, in the mean of those that have finished; `None`: none has.
    pub takes: Option<Duration>,
}

impl LiveStatus {
    /// The line.
    ///
    /// Example: `superpin: the app ended after 12 s, 3 s ago: 2 slices run, 0 wait, 11 of 13 merged, 2 s to go`
    pub fn line(&self) -> String {
        let (app, running, waiting, merged) = (seconds(self.app), self.running.len(), self.waiting, self.merged);
        let slices = format!(
            "{running} slice{} run{}, {waiting} wait",
            if running == 1 { "" } else { "s" },
            if running == 1 { "s" } else { "" }
        );
        let Some(ended) = self.ended else {
            return format!("superpin: {app}, slice {}: {slices}, {merged} merged", self.begun);
        };
        let to_go = self.to_go().map_or(String::new(), |left| format!(", {} to go", seconds(left)));
        format!(
            "superpin: the app ended after {app}, {} ago: {slices}, {merged} of {} merged{to_go}",
            seconds(ended),
            self.begun
        )
    }

    /// How long the slices that are left take, if each takes as long as those that have finished.
    fn to_go(&self) -> Option<Duration> {
        let takes = self.takes?;
        let lanes = self.limit.max(1);
        // When each lane is free.
        let mut free: Vec<Duration> = self.running.iter().map(|since| takes.saturating_sub(*since)).collect();
        free.resize(free.len().max(lanes), Duration::ZERO);
        for _ in 0..self.waiting {
            *free.iter_mut().min()? += takes;
        }
        // Where all have taken longer than those before, nobody knows.
        free.into_iter().max().filter(|left| !left.is_zero())
    }
}

/// As a person reads them.
fn seconds(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_run_that_goes_on_and_one_whose_app_has_ended() {
        let standing = LiveStatus {
            app: 75 * SECOND,
            begun: 14,
            running: vec![SECOND],
            waiting: 2,
            merged: 10,
            limit: 2,
            ..LiveStatus::default()
        };
        assert_eq!(standing.line(), "superpin: 75 s, slice 14: 1 slice runs, 2 wait, 10 merged");
        let standing = LiveStatus { ended: Some(3 * SECOND), app: 4000 * SECOND, takes: Some(5 * SECOND), ..standing };
        let line =
            "superpin: the app ended after 66 min 40 s, 3 s ago: 1 slice runs, 2 wait, 10 of 14 merged, 9 s to go";
        assert_eq!(standing.line(), line);
        let standing = LiveStatus { takes: None, running: Vec::new(), ..standing };
        assert!(standing.line().ends_with(": 0 slices run, 2 wait, 10 of 14 merged"), "{}", standing.line());
    }

    #[test]
    fn what_is_left_is_shared_by_those_that_may_run_at_a_time() {
        let standing = LiveStatus {
            running: vec![9 * SECOND, 2 * SECOND, SECOND],
            waiting: 4,
            limit: 3,
            takes: Some(4 * SECOND),
            ..LiveStatus::default()
        };
        // Free at 0, 2, 3; then 4, 6, 7 and 8.
        assert_eq!(standing.to_go(), Some(8 * SECOND));
    }
}
