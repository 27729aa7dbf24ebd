//! Statistics of a run, for `-report`.
//!
//! One `name: value` on a line, so that people and programs can read it. The three parts of overhead that the paper names are
//! `fork_ms` (and what else the master stands still for: `master_stopped_ms`), `master_asleep_ms` (waiting at the
//! limit) and `pipeline_delay_ms` (from the app's end to the last slice's).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use bubble::end::{End, EndKind};
use bubble::region::Progress;
use bubble::shared::SliceStats;

use super::boundary::Boundary;
use super::processors::{Measured, PROCESSORS};
use super::timeline::{Ran, Timeline};
use super::worth::{Doubts, Worth};
use crate::base::{Described, Moment, Routines};

/// What is counted during a run.
#[derive(Default)]
pub struct Statistics {
    started: Moment,
    app_ended: Option<Moment>,
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
    /// Turns that threads gave up, in slices: in a call, behind one, at the end of a slice, by their ends.
    pub turns: [u64; 4],
    /// Slices that ended because the thread that had the turn spun.
    pub turns_of_spinners: u64,
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
    ends: Option<BTreeMap<u64, String>>,
    boundaries: [u64; Boundary::ALL.len()],
    slice: SliceStats,
    measured: Measured,
    timeline: Option<Timeline>,
    /// [`Self::stopped_time`] when the last slice ended in the master.
    stopped_before: Duration,
    routines: Routines,
    /// Nanoseconds from each fork until its slice was ready for its first instruction.
    boots: Vec<u64>,
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
        self.timeline.iter_mut().for_each(|timeline| timeline.ran(run));
    }

    /// The app has ended.
    pub fn app_ended(&mut self) {
        self.app_ended = Some(Moment::now());
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

    /// The master has come to the end of a slice, with so much CPU time in it.
    pub fn recorded(&mut self, slice: u64, kind: Boundary, cpu: Duration) {
        self.timeline.iter_mut().for_each(|timeline| timeline.recorded(slice, kind));
        let stopped = self.stopped_time - std::mem::replace(&mut self.stopped_before, self.stopped_time);
        self.measured.recorded(slice, cpu, stopped);
    }

    /// A slice ended there.
    pub fn ended_at(&mut self, slice: u64, end: &End, stats: &SliceStats, recurs: bool) {
        let pc = end.registers.rip;
        let fixed = stats.boot_cpu_ns + stats.engine.translate_ns;
        let [cpu, fixed, boot] = [stats.cpu_ns, fixed, stats.boot_cpu_ns].map(Duration::from_nanos);
        self.measured.has_run(slice, cpu, fixed);
        self.timeline.iter_mut().for_each(|timeline| timeline.used(slice, cpu, boot));
        if recurs {
            self.doubts.recurring.push(pc);
            self.doubts.recurring_in.push(slice);
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

    /// The report's text, of a run that has failed if that is said.
    pub fn text(&self, failure: Option<&str>) -> String {
        let mut text = String::new();
        let mut line = |name: &str, value: String| writeln!(text, "{name}: {value}").expect("a String takes all");
        let now = Moment::now();
        line("result", failure.map_or(self.worth(), |_| Worth::None).to_string());
        if let Some(failure) = failure {
            line("failure", failure.split('\n').collect::<Vec<_>>().join(" "));
        }
        line("wall_ms", ms(now.since(self.started)));
        line("app_ms", ms(self.app_ended.unwrap_or(now).since(self.started)));
        line("pipeline_delay_ms", ms(now.since(self.app_ended.unwrap_or(now))));
        line("child_processes", self.children.to_string());
        line("threads", self.threads.to_string());
        let turns = ["turns_in_calls", "turns_behind_calls", "turns_at_slice_ends", "turns_at_thread_ends"];
        turns.iter().zip(self.turns).for_each(|(name, turns)| line(name, turns.to_string()));
        line("turns_of_spinners", self.turns_of_spinners.to_string());
        line("slices", self.slices.to_string());
        line("slices_begun_again", self.begun_again.to_string());
        line("slices_discarded", self.discarded.to_string());
        line("slices_from_snapshot", self.slices_from_snapshot.to_string());
        line("given_more_time", self.given_more_time.to_string());
        line("forks", self.forks.to_string());
        for kind in Boundary::ALL {
            line(&format!("boundaries_{}", kind.name()), self.boundaries[kind as usize].to_string());
        }
        line("boundaries_verified", self.slice.verified.to_string());
        line("boundaries_ambiguous", self.doubts.recurring.len().to_string());
        line("slices_with_foreign_writes", self.doubts.written_by_others.len().to_string());
        line("records", self.records.to_string());
        line("records_in_process", self.recorded_in_process.to_string());
        line("log_bytes", self.log_bytes.to_string());
        line("shared_bytes_compared", self.shared_bytes_compared.to_string());
        line("result_bytes", self.result_bytes.to_string());
        line("master_stops", self.stops.to_string());
        line("master_stopped_ms", ms(self.stopped_time));
        line("master_asleep_ms", ms(self.asleep_time));
        line("boundary_ms", ms(self.boundary_time));
        line("boundary_longest_us", self.longest_boundary.as_micros().to_string());
        line("fork_ms", ms(self.fork_time));
        line("fork_longest_us", self.longest_fork.as_micros().to_string());
        line("take_over_ms", ms(self.take_over_time));
        line("slice_boot_ms", ms(Duration::from_nanos(self.slice.boot_ns)));
        let mut boots = self.boots.clone();
        boots.sort_unstable();
        line("slice_boot_median_us", (boots.get(boots.len() / 2).unwrap_or(&0) / 1000).to_string());
        line("slice_boot_longest_us", (boots.last().unwrap_or(&0) / 1000).to_string());
        line("slice_boot_cpu_ms", ms(Duration::from_nanos(self.slice.boot_cpu_ns)));
        line("slice_cpu_ms", ms(Duration::from_nanos(self.slice.cpu_ns)));
        for processors in PROCESSORS {
            let Some(expected) = self.measured.expected(processors) else { break };
            line(&format!("on_{processors}_processors_ms"), ms(expected.wall));
            line(&format!("on_{processors}_processors_spmp"), expected.limit.to_string());
            line(&format!("on_{processors}_processors_spmsec"), expected.length.to_string());
        }
        line("translate_ms", ms(Duration::from_nanos(self.slice.engine.translate_ns)));
        line("traces", self.slice.engine.traces.to_string());
        line("trace_instructions", self.slice.engine.instructions.to_string());
        line("shared_hits", self.slice.engine.shared_hits.to_string());
        line("shared_misses", self.slice.engine.shared_misses.to_string());
        let each = self.slice.engine.translate_ns as f64 / self.slice.engine.instructions.max(1) as f64;
        line("translate_us_per_instruction", format!("{:.3}", each / 1000.0));
        if let Some(mhz) = processor_mhz() {
            line("translate_cycles_per_instruction", format!("{:.0}", each * mhz / 1000.0));
        }
        line("cache_bytes", self.slice.engine.cache_bytes.to_string());
        line("kept_bytes_loaded", self.kept_loaded.to_string());
        line("kept_bytes_saved", self.kept_saved.to_string());
        if let Some(why) = &self.kept_not {
            line("kept_not", why.clone());
        }
        for (name, n) in ["code", "branch", "syscall", "emulate", "other"].into_iter().zip(self.slice.engine.entries) {
            line(&format!("entries_{name}"), n.to_string());
        }
        line("full_checks", self.slice.full_checks.to_string());
        line("stack_checks", self.slice.stack_checks.to_string());
        line("memory_checks", self.slice.memory_checks.to_string());
        for (n, routine) in self.routines().iter().enumerate() {
            line(&format!("routine_{}_{}", n + 1, routine.way), routine.text());
        }
        for (slice, end) in self.ends.iter().flatten() {
            line(&format!("slice_{slice}_ended"), end.clone());
        }
        text
    }
}

fn ms(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64() * 1e3)
}

/// The processor's frequency, as far as the kernel knows it.
fn processor_mhz() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    text.lines().find_map(|line| line.strip_prefix("cpu MHz")?.split_once(':')?.1.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bubble::shared::EngineStats;

    #[test]
    fn every_boundary_has_its_line() {
        let mut statistics = Statistics::new(false, false);
        for (i, kind) in Boundary::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, i, "the table is in the enum's order");
            statistics.boundary(kind);
        }
        statistics.boundary(Boundary::Exec);
        let text = statistics.text(None);
        assert!(text.contains("\nboundaries_exec: 2\n") && text.contains("\nboundaries_signal: 1\n"), "{text}");
    }

    #[test]
    fn slices_add_up() {
        let mut statistics = Statistics::new(false, false);
        let engine = EngineStats { traces: 2, entries: [1, 2, 3, 4, 5], ..EngineStats::default() };
        let stats = SliceStats { engine, ..SliceStats::default() };
        statistics.finished(&stats, 10);
        statistics.finished(&stats, 5);
        for boot_ns in [9_000, 1_000, 2_000] {
            statistics.finished(&SliceStats { boot_ns, ..SliceStats::default() }, 0);
        }
        let text = statistics.text(None);
        let boots = ["slice_boot_median_us: 2", "slice_boot_longest_us: 9"];
        for line in ["slices: 5", "traces: 4", "entries_other: 10", "result_bytes: 15"].into_iter().chain(boots) {
            assert!(text.lines().any(|l| l == line), "{line} in {text}");
        }
    }
}
