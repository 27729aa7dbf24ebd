//! All that a report has to tell, by name: docs/report.md says what each means.

use std::time::Duration;

use super::boundary::Boundary;
use super::processors::PROCESSORS;
use super::statistics::Statistics;
use super::worth::Worth;
use crate::base::Moment;

impl Statistics {
    /// Names and values, of a run that has failed if that is said.
    pub fn lines(&self, failure: Option<&str>) -> Vec<(String, String)> {
        let mut lines = Vec::new();
        let mut line = |name: &str, value: String| lines.push((name.to_owned(), value));
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
        self.turns.lines().into_iter().for_each(|(name, value)| line(name, value));
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
        line("points", self.slice.points.reached.to_string());
        line("points_ambiguous", self.doubts.recurring_points.len().to_string());
        line("turns_ambiguous", self.slice.points.ambiguous_turns.to_string());
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
        line("merges", self.merges.to_string());
        line("merge_ms", ms(self.merge_time));
        line("merge_longest_us", self.longest_merge.as_micros().to_string());
        line("merges_waiting_most", self.most_waiting.to_string());
        for processors in PROCESSORS {
            let Some(expected) = self.measured.expected(processors) else { break };
            line(
                &format!("on_{processors}_processors_ms"),
                ms(self.measured.least_wall(processors).unwrap_or_default()),
            );
            line(&format!("on_{processors}_processors_best_ms"), ms(expected.wall));
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
        lines
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
    use bubble::shared::{EngineStats, SliceStats};

    use super::*;

    fn text(statistics: &Statistics) -> String {
        statistics.lines(None).iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
    }

    #[test]
    fn every_boundary_has_its_line() {
        let mut statistics = Statistics::new(false, false);
        for (i, kind) in Boundary::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, i, "the table is in the enum's order");
            statistics.boundary(kind);
        }
        statistics.boundary(Boundary::Exec);
        let text = text(&statistics);
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
        let text = text(&statistics);
        let boots = ["slice_boot_median_us: 2", "slice_boot_longest_us: 9"];
        for line in ["slices: 5", "traces: 4", "entries_other: 10", "result_bytes: 15"].into_iter().chain(boots) {
            assert!(text.lines().any(|l| l == line), "{line} in {text}");
        }
    }
}
