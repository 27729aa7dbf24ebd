//! What more processors would give: the slices of a run, as they were measured, run once more on so many.
//!
//! ```text
//!   app      ──1──┬──2──┬──3──┐              a slice is due when the app has come to its end,
//!   slice 1       └═══════┐                  and costs what it has cost
//!   slice 2             └═══════┐
//!   slice 3                   └══════╡       the last one ends the run
//! ```
//!
//! All that run at a time share the processors evenly, and the app waits where it would: before a slice for which there is no room (`-spmp`). What is left out: that processors
//! share caches, memory and clock rates; that the app waits for something else than a processor; what the control process does beside the app.

use std::collections::VecDeque;
use std::time::Duration;

/// For so many processors the report has lines.
pub const PROCESSORS: [u32; 6] = [1, 2, 4, 8, 16, 32];

/// Slices at a time that are tried.
const LIMITS: [usize; 12] = [1, 2, 3, 4, 5, 6, 8, 12, 16, 20, 24, 32];

/// Lengths of slices that are tried, in milliseconds.
const LENGTHS: [u64; 7] = [50, 100, 200, 500, 1000, 2000, 5000];

/// Less than that share of the time is no reason for more slices at a time, or shorter ones.
const MATTERS: f64 = 0.01;

/// Slices may take that much longer than they did, without waits because too few may run at a time: two that run on the two halves of one core do, and where
/// there are processors, more at a time cost nothing. (On 16 such halves slices of perl took twice what they took on two, and the app slept a quarter of its time with as many
/// at a time as would have been enough.)
const MARGIN: f64 = 1.5;

/// So many slices are the last ones.
const LAST: usize = 8;

/// What a slice has cost, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Slice {
    /// Of the app, up to where it ends: its CPU time, and what it stood still for.
    app: f64,
    /// Of the slice itself.
    own: f64,
}

/// What slices have cost that have finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// How many.
    pub finished: u32,
    /// The last of them: of so many is what follows.
    pub among: u32,
    /// CPU time of the app in them.
    pub app: Duration,
    /// Their own.
    pub own: Duration,
    /// CPU time of the app in all slices, those included that have not finished.
    pub up_to_now: Duration,
    /// What comes with each slice however long it is: the least of the last ones. The first ones translate what all have in common.
    pub fixed: Duration,
    /// For so long the app has stood still where a slice ended, in the mean of all.
    pub held: Duration,
}

/// The slices of a run.
#[derive(Default)]
pub struct Measured {
    slices: Vec<Slice>,
    /// Of slices that are to run again.
    counted: f64,
    /// Of [`Slice::own`], what comes with each slice however long it is.
    fixed: f64,
    /// Of [`Slice::app`], the same.
    stopped: f64,
    finished: u32,
    /// Of the app, all of them.
    up_to_now: f64,
    /// The last ones that have finished, and what comes with each.
    last: VecDeque<(Slice, Duration)>,
}

/// What to expect with other options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expected {
    /// From the app's start to the last slice's end.
    pub wall: Duration,
    /// Slices at a time: the fewest with which it takes no longer than that, with a margin.
    pub limit: usize,
    /// Milliseconds in a slice: the most with which it takes no longer.
    pub length: u64,
}

impl Measured {
    /// The app has come to the end of slice `number`, with so much CPU time and standing still in it.
    pub fn recorded(&mut self, number: u64, cpu: Duration, stopped: Duration) {
        self.slice(number).app += (cpu + stopped).as_secs_f64();
        self.up_to_now += cpu.as_secs_f64();
        self.stopped += stopped.as_secs_f64();
    }

    /// Slices have run once to count, for so long; they will run again.
    pub fn have_counted(&mut self, cpu: Duration) {
        self.counted += cpu.as_secs_f64();
    }

    /// Slice `number` has run, with so much CPU time, `fixed` of which doesn't depend on its length.
    pub fn has_run(&mut self, number: u64, cpu: Duration, fixed: Duration) {
        let counted = std::mem::take(&mut self.counted);
        let own = counted + cpu.as_secs_f64();
        self.slice(number).own += own;
        self.finished += 1;
        let slice = Slice { own, ..*self.slice(number) };
        self.last.truncate(LAST - 1);
        self.last.push_front((slice, fixed));
        self.fixed += fixed.as_secs_f64();
    }

    /// What those have cost that have finished. `held`: see there.
    pub fn costs(&self, held: Duration) -> Costs {
        let sum = |of: fn(&Slice) -> f64| Duration::from_secs_f64(self.last.iter().map(|(slice, _)| of(slice)).sum());
        Costs {
            finished: self.finished,
            among: self.last.len() as u32,
            app: sum(|slice| slice.app),
            own: sum(|slice| slice.own),
            up_to_now: Duration::from_secs_f64(self.up_to_now),
            fixed: self.last.iter().map(|(_, fixed)| *fixed).min().unwrap_or_default(),
            held,
        }
    }

    fn slice(&mut self, number: u64) -> &mut Slice {
        let number = number as usize;
        if self.slices.len() <= number {
            self.slices.resize(number + 1, Slice::default());
        }
        &mut self.slices[number]
    }

    /// How long it takes with so many processors, slices as they were, and so many at a time. `None`: there were none.
    pub fn wall(&self, processors: u32, limit: usize) -> Option<Duration> {
        (!self.slices.is_empty()).then(|| Duration::from_secs_f64(wall(&self.slices, processors, limit)))
    }

    /// The same with as many slices at a time as help.
    pub fn least_wall(&self, processors: u32) -> Option<Duration> {
        limits(processors).filter_map(|limit| self.wall(processors, limit)).min()
    }

    /// The options to take with so many processors, and how long it takes then. `None`: there were no slices.
    pub fn expected(&self, processors: u32) -> Option<Expected> {
        if self.slices.is_empty() {
            return None;
        }
        let lengths = LENGTHS.into_iter().rev().filter_map(|length| {
            let mut slices = self.of_length(length);
            slices.iter_mut().for_each(|slice| slice.own *= MARGIN);
            let (limit, time) = least(limits(processors).map(|limit| (limit, wall(&slices, processors, limit))))?;
            Some(((length, limit), time))
        });
        let ((length, limit), _) = least(lengths)?;
        let wall = Duration::from_secs_f64(wall(&self.of_length(length), processors, limit));
        Some(Expected { wall, limit, length })
    }

    /// The same work in slices of this length.
    fn of_length(&self, milliseconds: u64) -> Vec<Slice> {
        let n = self.slices.len() as f64;
        let sum = |of: fn(&Slice) -> f64| self.slices.iter().map(of).sum::<f64>();
        let (app, own) = (sum(|slice| slice.app) - self.stopped, sum(|slice| slice.own) - self.fixed);
        let count = (app * 1000.0 / milliseconds as f64).ceil().max(1.0);
        let slice = Slice { app: app.max(0.0) / count + self.stopped / n, own: own.max(0.0) / count + self.fixed / n };
        vec![slice; count as usize]
    }
}

/// Slices at a time that are tried with so many processors.
fn limits(processors: u32) -> impl Iterator<Item = usize> {
    LIMITS.into_iter().filter(move |limit| *limit <= processors as usize + 1)
}

/// The first with a time that isn't much longer than the least.
fn least<T>(all: impl Iterator<Item = (T, f64)>) -> Option<(T, f64)> {
    let all: Vec<(T, f64)> = all.collect();
    let least = all.iter().map(|(_, time)| *time).reduce(f64::min)?;
    all.into_iter().find(|(_, time)| *time <= least * (1.0 + MATTERS))
}

/// How long the run takes in seconds, if `limit` slices may run at a time.
fn wall(slices: &[Slice], processors: u32, limit: usize) -> f64 {
    // What is left of the app up to the end of a slice, and of the slices that run.
    let (mut next, mut app) = (0, slices.first().map_or(0.0, |slice| slice.app));
    let mut running: Vec<f64> = Vec::new();
    let mut now = 0.0;
    loop {
        running.retain(|left| *left > 0.0);
        while next < slices.len() && app <= 0.0 && running.len() < limit {
            running.extend(Some(slices[next].own).filter(|own| *own > 0.0));
            next += 1;
            app = slices.get(next).map_or(0.0, |slice| slice.app);
        }
        let all = running.len() + usize::from(app > 0.0);
        if all == 0 {
            return now;
        }
        let rate = (f64::from(processors) / all as f64).min(1.0);
        let step = running.iter().copied().chain(Some(app).filter(|app| *app > 0.0)).fold(f64::INFINITY, f64::min);
        now += step / rate;
        running.iter_mut().for_each(|left| *left -= step);
        app -= step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(slices: u64, app_ms: u64, own_ms: u64) -> Measured {
        let mut measured = Measured::default();
        for number in 0..slices {
            measured.recorded(number, Duration::from_millis(app_ms), Duration::ZERO);
            measured.has_run(number, Duration::from_millis(own_ms), Duration::ZERO);
        }
        measured
    }

    fn wall_ms(measured: &Measured, processors: u32, limit: usize) -> u64 {
        (wall(&measured.slices, processors, limit) * 1000.0).round() as u64
    }

    #[test]
    fn one_processor_does_all_of_it() {
        assert_eq!(wall_ms(&run(10, 100, 300), 1, 1), 4000);
        assert_eq!(wall_ms(&run(10, 100, 300), 1, 8), 4000);
    }

    #[test]
    fn with_enough_of_them_the_last_slice_comes_behind_the_app() {
        assert_eq!(wall_ms(&run(10, 100, 300), 4, 8), 1300);
        assert_eq!(wall_ms(&run(10, 100, 300), 32, 8), 1300);
    }

    /// As in the paper: with too few slices at a time the app sleeps.
    #[test]
    fn the_app_waits_where_there_is_no_room() {
        // One at a time: they run one behind the other, the first behind the app's first.
        assert_eq!(wall_ms(&run(10, 100, 300), 4, 1), 3100);
        assert_eq!(wall_ms(&run(10, 100, 300), 4, 2), 1700);
    }

    #[test]
    fn processors_are_shared() {
        // 4 s of work on two of them; alone is who comes first and last.
        let wall = wall_ms(&run(10, 100, 300), 2, 8);
        assert!((2000..2200).contains(&wall), "{wall}");
    }

    #[test]
    fn no_more_is_advised_than_helps_with_a_margin() {
        let expected = run(100, 100, 300).expected(32).unwrap();
        assert_eq!(expected.limit, 5, "{expected:?}");
        assert_eq!(Measured::default().expected(4), None);
    }

    /// A program that is over before its slice's time is has one slice, which nothing runs beside.
    #[test]
    fn shorter_slices_are_advised_where_they_run_beside_each_other() {
        let measured = run(1, 400, 10_000);
        assert_eq!(measured.least_wall(4), Some(Duration::from_millis(10_400)));
        let Expected { wall, limit, length } = measured.expected(4).unwrap();
        assert!(wall < Duration::from_millis(4000) && limit >= 4 && length <= 100, "{wall:?} {limit} {length}");
    }

    #[test]
    fn slices_are_as_long_as_what_comes_with_each_makes_them() {
        let with_fixed = |fixed| {
            let mut measured = run(10, 1000, 2000);
            (0..10).for_each(|n| measured.has_run(n, Duration::from_millis(fixed), Duration::from_millis(fixed)));
            measured.expected(3).unwrap().length
        };
        assert!(with_fixed(1) < with_fixed(500), "{} {}", with_fixed(1), with_fixed(500));
    }
}
