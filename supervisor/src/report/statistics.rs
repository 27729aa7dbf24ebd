//! What is counted in a run, for `-report`.
//!
//! The three parts of overhead that the paper names are
//! `fork_ms` (and what else the master stands still for: `master_stopped_ms`), `master_asleep_ms` (waiting at the
//! limit) and `pipeline_delay_ms` (from the app's end to the last slice's).

use std::collections::BTreeMap;
use std::time::Duration;

use bubble::end::{End, EndKind};
use bubble::region::Progress;
use bubble::shared::SliceStats;

use super::boundary::Boundary;
use super::processors::{Costs, Measured};
use super::timeline::{Merged, Ran, Timeline};
use super::turns::Turns;
use super::worth::{Doubts, Worth};
use crate::base::{Described, Moment, Routines, processor_of};

/// What is counted during a run.
#[derive(Default)]
pub struct Statistics {
    pub(super) started: Moment,
    pub(super) app_ended: Option<Moment>,
    /// Forks of the master.
    pub forks: u64,
    /// Time in them.
    pub fork_time: Duration,
    /// The longest.
    pub longest_fork: Duration,
    /// From the report of a boundary's stop to the master's going on.
    pub boundary_time: Duration,
    /// The longest.
    pub longest_boundary: Duration,
    /// Boundary stops.
    pub boundary_stops: u64,
    /// At all stops together.
    pub stopped_time: Duration,
    /// Stops of the master.
    pub stops: u64,
    /// Standing still because too many slices were running.
    pub asleep_time: Duration,
    /// Records written.
    pub records: u64,
    /// Those that the recorder inside the app wrote.
    pub recorded_in_process: u64,
    /// Bytes of logs.
    pub log_bytes: u64,
    /// Bytes of shared memory that were compared with what was copied for earlier slices.
    pub shared_bytes_compared: u64,
    /// Take-overs.
    pub take_over_time: Duration,
    /// Slices that finished.
    pub slices: u64,
    /// Bytes of encoded results.
    pub result_bytes: u64,
    /// Processes that the app has started.
    pub children: u64,
    /// Threads that it has started.
    pub threads: u64,
    /// Turns that threads gave up, in slices.
    pub turns: Turns,
    /// Results that are a part of the total.
    pub(super) merges: u64,
    /// For so long the collector was busy with these.
    pub(super) merge_time: Duration,
    /// With one of them at most.
    pub(super) longest_merge: Duration,
    /// The most results that were there and not a part of the total yet.
    pub(super) most_waiting: usize,
    /// Slices that were lost and begun again from their first state.
    pub begun_again: u64,
    /// Slices that had run behind the one in which the tool looked its last.
    pub discarded: u64,
    /// Slices that were begun from a snapshot of an image that had started.
    pub slices_from_snapshot: u64,
    /// Times that a slice got more time because the program copies its pages.
    pub given_more_time: u64,
    /// What the result may not have right.
    pub doubts: Doubts,
    /// Bytes of translations that were kept by runs before.
    pub kept_loaded: u64,
    /// Bytes of translations that were kept for runs after this.
    pub kept_saved: u64,
    /// Why translations weren't kept.
    pub kept_not: Option<String>,
    /// How far the run has come, where the tool looks at a part of it.
    pub progress: Option<Progress>,
    /// How each slice ended, if that was asked for.
    pub(super) ends: Option<BTreeMap<u64, String>>,
    pub(super) boundaries: [u64; Boundary::ALL.len()],
    pub(super) slice: SliceStats,
    pub(super) measured: Measured,
    /// CPU time of the app, where it runs natively.
    pub(super) app_cpu: Duration,
    timeline: Option<Timeline>,
    /// [`Self::stopped_time`] when the last slice ended in the master.
    stopped_before: Duration,
    routines: Routines,
    /// For how long processes of slices have run, and how many.
    runs: (Duration, u32),
    /// Nanoseconds from each fork until its slice was ready for its first instruction.
    pub(super) boots: Vec<u64>,
}

impl Statistics {
    /// Zeroes; the run starts now. `list_ends`: the report is to say of each slice where it ended and how that was proven. `draws`: the run is to be drawn.
    pub fn new(list_ends: bool, draws: bool) -> Self {
        let started = Moment::now();
        let timeline = draws.then(|| Timeline::new(started));
        Self { started, ends: list_ends.then(BTreeMap::new), timeline, ..Self::default() }
    }

    /// What is said of the tool's routines.
    pub fn routines(&self) -> Vec<Described> {
        self.routines.described(self.slice.cpu_ns)
    }

    /// A slice ended in this way.
    pub fn boundary(&mut self, kind: Boundary) {
        self.boundaries[kind as usize] += 1;
    }

    /// A fork of the master took so long.
    pub fn forked(&mut self, time: Duration) {
        self.forks += 1;
        self.fork_time += time;
        self.longest_fork = self.longest_fork.max(time);
    }

    /// A boundary, at which a slice was forked, has held the master since then (waiting at the limit not included).
    pub fn held(&mut self, slice: u64, since: Moment) {
        let time = since.elapsed();
        self.boundary_stops += 1;
        self.stopped_time += time;
        self.boundary_time += time;
        self.longest_boundary = self.longest_boundary.max(time);
        self.timeline.iter_mut().for_each(|timeline| timeline.forked(slice, since));
    }

    /// The master has stood still since then, because there was no room for another slice.
    pub fn slept(&mut self, since: Moment) {
        self.asleep_time += since.elapsed();
        self.timeline.iter_mut().for_each(|timeline| timeline.slept(since));
    }

    /// A slice's process has run.
    pub fn ran(&mut self, run: Ran) {
        self.runs.0 += run.until.since(run.from);
        self.runs.1 += 1;
        self.timeline.iter_mut().for_each(|timeline| timeline.ran(run));
    }

    /// For how long a slice's process has run, in the mean; `None`: none has.
    pub fn mean_run(&self) -> Option<Duration> {
        (self.runs.1 > 0).then(|| self.runs.0 / self.runs.1)
    }

    /// For how long the app has run up to now, and how long ago it has ended, if it has.
    pub fn app_has_run(&self, now: Moment) -> (Duration, Option<Duration>) {
        (self.app_ended.unwrap_or(now).since(self.started), self.app_ended.map(|ended| now.since(ended)))
    }

    /// The app has ended.
    pub fn app_ended(&mut self) {
        self.app_ended = Some(Moment::now());
    }

    /// So many results were there, one more than before, and not a part of the total yet.
    pub fn wait_for_merge(&mut self, results: usize) {
        self.most_waiting = self.most_waiting.max(results);
    }

    /// A result has become a part of the total.
    pub fn merged(&mut self, merged: Merged) {
        let time = merged.until.since(merged.from);
        self.merges += 1;
        self.merge_time += time;
        self.longest_merge = self.longest_merge.max(time);
        self.timeline.iter_mut().for_each(|timeline| timeline.merged(merged));
    }

    /// A slice (or the serial process) has finished.
    pub fn finished(&mut self, stats: &SliceStats, result_bytes: u64) {
        self.slices += 1;
        self.result_bytes += result_bytes;
        self.slice.add(stats);
        if stats.boot_ns > 0 {
            self.boots.push(stats.boot_ns);
        }
        self.routines.add(&stats.away);
        self.children += stats.children;
        self.threads += stats.threads;
    }

    /// Slices were run that are run again: with the tool.
    pub fn counted(&mut self, stats: &SliceStats) {
        self.slice.add(stats);
        self.measured.have_counted(Duration::from_nanos(stats.cpu_ns));
    }

    /// Process `pid`, the master, has come to the end of a slice, with so much CPU time in it.
    pub fn recorded(&mut self, pid: i32, slice: u64, kind: Boundary, cpu: Duration) {
        self.timeline.iter_mut().for_each(|timeline| timeline.recorded(slice, kind, processor_of(pid)));
        let stopped = self.stopped_time - std::mem::replace(&mut self.stopped_before, self.stopped_time);
        self.app_cpu += cpu;
        self.measured.recorded(slice, cpu, stopped);
    }

    /// A slice ended there.
    pub fn ended_at(&mut self, slice: u64, end: &End, stats: &SliceStats, recurs: bool) {
        let pc = end.registers.rip;
        let fixed = stats.boot_cpu_ns + stats.engine.translate_ns;
        let [cpu, fixed, boot] = [stats.cpu_ns, fixed, stats.boot_cpu_ns].map(Duration::from_nanos);
        self.measured.has_run(slice, cpu, fixed);
        self.timeline.iter_mut().for_each(|timeline| timeline.used(slice, cpu, boot, stats.processors));
        if recurs {
            self.doubts.recurring.push(pc);
            self.doubts.recurring_in.push(slice);
        }
        for _ in 0..stats.points.ambiguous {
            self.doubts.recurring_points.push(stats.points.ambiguous_at);
            self.doubts.recurring_points_in.push(slice);
        }
        if stats.shared_changed != 0 {
            self.doubts.written_by_others.push(slice);
        }
        let Some(ends) = &mut self.ends else { return };
        let kind = match end.kind {
            EndKind::Syscall => "behind the system call before",
            EndKind::Signature => "at",
        };
        let proof = match (stats.verified, recurs) {
            (_, true) => "memory equal, but the state recurs",
            (0, _) => "registers equal",
            _ => "memory equal",
        };
        ends.insert(slice, format!("{kind} {pc:#x}, {proof}"));
    }

    /// What slices have cost that have finished.
    pub fn costs(&self) -> Costs {
        let boundaries = u32::try_from(self.boundary_stops).unwrap_or(u32::MAX).max(1);
        self.measured.costs(self.boundary_time / boundaries)
    }

    /// The tool has looked its last in this slice.
    pub fn stopped_in(&mut self, slice: u64) {
        self.doubts.forget_from(slice);
    }

    /// CPU time of the slices, or of the serial run, translation included.
    pub fn instrumented(&self) -> Duration {
        Duration::from_nanos(self.slice.cpu_ns)
    }

    /// What the result is worth.
    pub fn worth(&self) -> Worth {
        self.doubts.worth()
    }

    /// Why it is worth no more.
    pub fn reasons(&self) -> String {
        self.doubts.reasons(self.slices)
    }

    /// What happened when, if that is to be drawn; how long the run has taken, and how long the app.
    pub fn drawn(&self) -> Option<(&Timeline, Duration, Duration)> {
        let now = Moment::now();
        let app = self.app_ended.unwrap_or(now).since(self.started);
        self.timeline.as_ref().map(|timeline| (timeline, now.since(self.started), app))
    }
}
