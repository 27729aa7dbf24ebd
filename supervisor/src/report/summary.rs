//! What a person wants to know of a run first: where its time went, what slices cost, and what to change.
//!
//! ```text
//!   It took 6.61 s: the app ran for 6.60 s, and the last slice ended 14 ms behind it.
//!   …
//!   To try: -spmsec 200: …
//! ```

use std::time::Duration;

use super::boundary::Boundary;
use super::processors::{Expected, PROCESSORS};
use super::statistics::Statistics;
use super::worth::Worth;
use crate::base::Moment;
use crate::command::{Settings, SliceLength};

/// A share of the time that is worth a change.
const MATTERS: f64 = 0.05;
/// A share of the slices' time in translation, from which on it is worth to keep translations.
const MUCH_TRANSLATION: f64 = 0.2;
/// A delay that nobody waits for.
const SHORT: Duration = Duration::from_millis(300);
/// So many threads want to execute at once where it is worth a change.
const TOGETHER: f64 = 1.2;
/// So many routines are named.
const MOST_ROUTINES: usize = 3;

/// The summary of a run: lines, the last of which say what to try.
pub struct Summary<'a> {
    /// What was counted.
    pub statistics: &'a Statistics,
    /// How it was run.
    pub settings: &'a Settings,
    /// What was run, for people.
    pub of: &'a str,
    /// Processors of this machine.
    pub processors: usize,
    /// Why there is no result, if so.
    pub failure: Option<&'a str>,
}

impl Summary<'_> {
    /// What was, and what it took.
    pub fn told(&self) -> Vec<String> {
        let mut told = vec![self.heading(), self.time()];
        if self.settings.sliced {
            told.extend([self.app(), self.slices()]);
            told.extend(self.ends());
            told.extend(self.elsewhere());
        } else {
            told.push(self.serial());
        }
        told.extend(self.routines());
        told
    }

    /// What to change, in words that begin with the options for it.
    pub fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        let statistics = self.statistics;
        if self.failure.is_some() || self.times().0 < SHORT {
            return advice;
        }
        if !self.settings.sliced {
            let gains = self.processors > 1 && statistics.threads == 0 && !self.settings.changes_app;
            advice.extend(
                gains.then(|| {
                    format!("-sp 1: the same total from slices, in parallel on {} processors", self.processors)
                }),
            );
        } else if self.processors == 1 {
            advice.push("-sp 0: with one processor slices have nowhere to run while the app does".to_owned());
        } else {
            advice.extend(self.other_slices());
            advice.extend(self.together());
        }
        let translation = Duration::from_nanos(statistics.slice.engine.translate_ns);
        if share(translation, statistics.instrumented()) > MUCH_TRANSLATION && self.may_keep() {
            advice.push(format!(
                "-persist FOLDER: {} went into translation, which the next run of the same program then finds",
                time(translation)
            ));
        }
        advice
    }

    /// Whether translations could be kept, and weren't.
    fn may_keep(&self) -> bool {
        let Settings { persist, region, randomise, sharing, check_tool, .. } = self.settings;
        persist.is_none() && region.is_all() && !randomise && *sharing && !check_tool
    }

    /// Other slices, if they would take less time.
    fn other_slices(&self) -> Option<String> {
        let Settings { max_running, slice_length, .. } = self.settings;
        let processors = self.processors as u32;
        let now = self.statistics.measured.wall(processors, *max_running)?;
        let Expected { wall, limit, length } = self.statistics.measured.expected(processors)?;
        let gain = now.saturating_sub(wall);
        if gain < SHORT || share(gain, now) < MATTERS {
            return None;
        }
        let length =
            (*slice_length != SliceLength::Fixed(Duration::from_millis(length))).then(|| format!("-spmsec {length}"));
        let limit = (limit > *max_running).then(|| format!("-spmp {limit}"));
        let options: Vec<String> = length.into_iter().chain(limit).collect();
        let why = format!("some {} with nothing beside it, where these slices take {}", time(wall), time(now));
        (!options.is_empty()).then(|| format!("{}: {why}", options.join(" ")))
    }

    /// A serial run, if threads that execute at the same time would take less time than slices, whose app has one at a time.
    fn together(&self) -> Option<String> {
        let busy = self.statistics.turns.threads_busy()?;
        let at_once = busy.min(self.processors as f64);
        let serially = self.statistics.instrumented().div_f64(at_once);
        let (wall, _) = self.times();
        (at_once >= TOGETHER && wall.saturating_sub(serially) > SHORT.max(wall.mul_f64(MATTERS))).then(|| {
            format!(
                "-sp 0: {busy:.1} threads wanted to execute at once, and in slices one of the app's does at a time. Serially they do with tools to which their order is nothing \
                 (docs/tools.md): some {}",
                time(serially)
            )
        })
    }

    /// How long the run has taken, and how long the app.
    fn times(&self) -> (Duration, Duration) {
        let now = Moment::now();
        let Statistics { started, app_ended, .. } = self.statistics;
        (now.since(*started), app_ended.unwrap_or(now).since(*started))
    }

    fn heading(&self) -> String {
        let worth = self.failure.map_or(self.statistics.worth(), |_| Worth::None);
        format!("{} of: {}. Result: {worth}", self.settings.tool_names(), self.of)
    }

    fn time(&self) -> String {
        let (wall, app) = self.times();
        match self.settings.sliced {
            true => format!(
                "It took {}: the app ran for {}, and the last slice ended {} behind it",
                time(wall),
                time(app),
                time(wall - app.min(wall))
            ),
            false => format!("It took {}, serially", time(wall)),
        }
    }

    fn app(&self) -> String {
        let Statistics { app_cpu, stopped_time, boundary_time, asleep_time, stops, boundary_stops, .. } =
            self.statistics;
        format!(
            "The app used {} of CPU time. It stood still for {} where slices ended and for {} at {}, and slept for {} because enough slices ran",
            time(*app_cpu),
            time(*boundary_time),
            time(*stopped_time - (*boundary_time).min(*stopped_time)),
            number(stops.saturating_sub(*boundary_stops), "other stop"),
            time(*asleep_time)
        )
    }

    fn slices(&self) -> String {
        let Statistics { slices, app_cpu, slice, .. } = self.statistics;
        let used = self.statistics.instrumented();
        format!(
            "{} used {} of CPU time, {:.1} times the app's: {:.0} % of it in translation, {:.0} % to begin",
            number(*slices, "slice"),
            time(used),
            used.as_secs_f64() / app_cpu.as_secs_f64().max(1e-6),
            percent(slice.engine.translate_ns, used),
            percent(slice.boot_cpu_ns, used)
        )
    }

    fn serial(&self) -> String {
        let used = self.statistics.instrumented();
        let translation = percent(self.statistics.slice.engine.translate_ns, used);
        format!("It used {} of CPU time, {translation:.0} % of it in translation", time(used))
    }

    fn ends(&self) -> Option<String> {
        let counts = Boundary::ALL.map(|kind| (self.statistics.boundaries[kind as usize], kind.name()));
        let named: Vec<String> =
            counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, kind)| format!("{kind} {n}")).collect();
        (!named.is_empty()).then(|| format!("Why slices ended: {}", named.join(", ")))
    }

    fn elsewhere(&self) -> Option<String> {
        let known = PROCESSORS.map(|n| Some((n, self.statistics.measured.expected(n)?)));
        let known = known.into_iter().flatten().map(|(n, expected)| {
            let Expected { wall, limit, length } = expected;
            format!("{n}: {} (-spmp {limit} -spmsec {length})", time(wall))
        });
        let known: Vec<String> = known.collect();
        (!known.is_empty()).then(|| format!("What it would take with so many processors: {}", known.join(", ")))
    }

    fn routines(&self) -> Vec<String> {
        let all = self.statistics.routines();
        let dear = all.iter().filter(|routine| routine.share() > 100.0 * MATTERS).take(MOST_ROUTINES);
        dear.map(|routine| {
            format!("A routine of the tool's that {}: {}", routine.way.replace('_', " "), routine.text())
        })
        .collect()
    }
}

fn share(part: Duration, whole: Duration) -> f64 {
    part.as_secs_f64() / whole.as_secs_f64().max(1e-9)
}

fn percent(ns: u64, whole: Duration) -> f64 {
    100.0 * share(Duration::from_nanos(ns), whole)
}

fn time(time: Duration) -> String {
    match time.as_secs_f64() {
        seconds if seconds >= 1.0 => format!("{seconds:.2} s"),
        seconds if seconds >= 0.01 => format!("{:.0} ms", seconds * 1e3),
        seconds => format!("{:.1} ms", seconds * 1e3),
    }
}

/// A number of things.
fn number(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_numbers_are_written_for_people() {
        let times = [0, 4_200, 12_400, 999_000, 1_234_000].map(|us| time(Duration::from_micros(us)));
        assert_eq!(times, ["0.0 ms", "4.2 ms", "12 ms", "999 ms", "1.23 s"]);
        assert_eq!([number(1, "slice"), number(2, "slice")], ["1 slice", "2 slices"]);
        assert!(share(Duration::ZERO, Duration::ZERO) < MATTERS);
    }
}
