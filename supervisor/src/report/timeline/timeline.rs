//! What happened when in a run.

use std::collections::BTreeMap;
use std::time::Duration;

use bubble::region::pass;
use serde::Serialize;

use crate::base::Moment;
use crate::report::boundary::Boundary;

/// What a slice's process did while it ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum What {
    /// The slice's work; if it is run twice, the second time.
    Whole,
    /// It was run to count, and is run again.
    Counts,
    /// The process was lost, and the slice begins again.
    Lost,
}

impl What {
    /// Of a process in this [`pass`].
    pub fn of(pass: u32) -> Self {
        if pass == pass::COUNTS { Self::Counts } else { Self::Whole }
    }
}

/// A slice's process has run.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    /// The slice's number.
    pub slice: u64,
    /// From when on.
    pub from: Moment,
    /// Until when.
    pub until: Moment,
    /// What for.
    pub what: What,
}

/// The collector has put a slice's result together with those before.
#[derive(Clone, Copy, Debug)]
pub struct Merged {
    /// The slice's number.
    pub slice: u64,
    /// From when on.
    pub from: Moment,
    /// Until when.
    pub until: Moment,
}

/// The life of a slice. All times are microseconds since the run's start.
#[derive(Default, Serialize)]
struct Life {
    /// When the master stopped for its fork, and when it went on.
    forked: Option<[u64; 2]>,
    /// When the master came to its end.
    recorded: Option<u64>,
    /// Why that was its end.
    boundary: Option<&'static str>,
    /// When its process ran, and what for.
    runs: Vec<(u64, u64, What)>,
    /// CPU time of these, in microseconds.
    cpu: u64,
    /// Of it, until the slice was ready for its first instruction.
    boot: u64,
    /// On which processor the app was at its end.
    app_on: Option<usize>,
    /// On which the slice began, and ended.
    on: Option<[u32; 2]>,
    /// From when until when the collector put its result together with those before.
    merged: Option<[u64; 2]>,
}

/// What happened when.
#[derive(Default, Serialize)]
pub struct Timeline {
    #[serde(skip)]
    started: Moment,
    slices: BTreeMap<u64, Life>,
    /// From when until when the master stood still because there was no room for another slice.
    asleep: Vec<[u64; 2]>,
}

impl Timeline {
    /// Of a run that starts now.
    pub fn new(started: Moment) -> Self {
        Self { started, ..Self::default() }
    }

    /// A slice was forked: the master has stood still for that since then.
    pub fn forked(&mut self, slice: u64, since: Moment) {
        let times = [self.time(since), self.time(Moment::now())];
        self.slice(slice).forked = Some(times);
    }

    /// The master has come to a slice's end, on this processor.
    pub fn recorded(&mut self, slice: u64, boundary: Boundary, on: Option<usize>) {
        let now = self.time(Moment::now());
        let slice = self.slice(slice);
        (slice.recorded, slice.boundary, slice.app_on) = (Some(now), Some(boundary.name()), on);
    }

    /// A slice's result is a part of the total.
    pub fn merged(&mut self, Merged { slice, from, until }: Merged) {
        let times = [from, until].map(|time| self.time(time));
        self.slice(slice).merged = Some(times);
    }

    /// A slice's process has run.
    pub fn ran(&mut self, Ran { slice, from, until, what }: Ran) {
        let run = (self.time(from), self.time(until), what);
        self.slice(slice).runs.push(run);
    }

    /// So much CPU time a slice has used, so much of it until it was ready; it began and ended on these processors.
    pub fn used(&mut self, slice: u64, cpu: Duration, boot: Duration, on: [u32; 2]) {
        let slice = self.slice(slice);
        (slice.cpu, slice.boot) = (cpu.as_micros() as u64, boot.as_micros() as u64);
        slice.on = Some(on).filter(|on| !on.contains(&u32::MAX));
    }

    /// The master has stood still since then, because there was no room for another slice.
    pub fn slept(&mut self, since: Moment) {
        self.asleep.push([self.time(since), self.time(Moment::now())]);
    }

    fn time(&self, moment: Moment) -> u64 {
        moment.since(self.started).as_micros() as u64
    }

    fn slice(&mut self, number: u64) -> &mut Life {
        self.slices.entry(number).or_default()
    }
}
