//! A guest: where it can run, what its run is, and what it must do natively.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;
use std::{fs, io};

use super::build::build;
use crate::deadline::stretched;
use crate::run::{Job, Outcome, run, run_at_most};
use crate::stop::Stop;

/// A program of `tests/guests`, one of its builds.
#[derive(Debug)]
pub struct Guest {
    /// `source` or `source.build`.
    pub name: String,
    /// Argument for single-stepped runs; none if it isn't single-stepped.
    pub small: Option<u64>,
    /// Whether single-stepping takes minutes.
    pub has_many_steps: bool,
    /// Argument for all other runs.
    pub large: u64,
    /// Whether it may be that it doesn't end natively.
    pub may_hang: bool,
    /// Whether a signal ends it natively.
    pub is_killed: bool,
    /// Whether two native runs execute the same number of instructions.
    pub repeats: bool,
    /// Whether the processes that it starts do.
    pub children_repeat: bool,
    /// Whether they execute them in the same order.
    pub order_repeats: bool,
    /// Whether counting by blocks gives the number of instructions.
    pub whole_blocks: bool,
    /// What the results of sliced runs are worth, if they aren't exact.
    pub warned: Option<String>,
    /// Whether they may be exact all the same.
    pub warned_by_chance: bool,
    /// What serial and sliced runs must say when they refuse to count; `None` where they must not refuse.
    pub refused: [Option<String>; 2],
    /// Whether it has no C library, so that all its system calls are in its source.
    pub bare: bool,
    /// Whether what must be refused may be counted all the same.
    pub by_chance: bool,
    /// Whether the translations that one run keeps are of use to the next.
    pub keeps: bool,
    /// Options for superpin besides those of the mode, or instead of them.
    pub options: Vec<String>,
    pub(super) source: PathBuf,
    pub(super) flags: Vec<String>,
    pub(super) needs: Vec<String>,
    pub(super) built: OnceLock<PathBuf>,
}

impl Guest {
    /// The name of its source, without ending.
    pub fn source_name(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// Skips the guest if this CPU doesn't have what it needs.
    pub fn runs_here(&self) -> Result<(), Stop> {
        static FLAGS: OnceLock<Vec<String>> = OnceLock::new();
        let flags = FLAGS.get_or_init(cpu_flags);
        let missing = self.needs.iter().find(|need| !flags.contains(need));
        missing.map_or(Ok(()), |need| Err(Stop::Skipped(format!("the processor has no {need}"))))
    }

    /// Whether two runs of it see the same: it has one total, and tools one stream.
    pub fn sees_the_same(&self) -> bool {
        let is_exact = !self.by_chance && self.warned.is_none() && self.refused.iter().all(Option::is_none);
        self.repeats && self.order_repeats && is_exact
    }

    /// A native run, which must end as the guest's head says. The guest is skipped if it may be that it doesn't end, and so it is.
    pub fn natively(&self, rounds: u64) -> Result<Outcome, Stop> {
        /// Many times what the guests take that may hang.
        const LIMIT: Duration = Duration::from_secs(3);
        let failed = |error: io::Error| Stop::Failed(format!("natively: {error}"));
        let outcome = if self.may_hang {
            let why = || format!("natively it doesn't end within {} s", LIMIT.as_secs());
            run_at_most(&self.job(rounds), stretched(LIMIT)).map_err(failed)?.ok_or_else(|| Stop::Skipped(why()))?
        } else {
            run(&self.job(rounds)).map_err(failed)?
        };
        // One that was built wrongly dies in the same way in all modes.
        if self.is_killed != (129..=192).contains(&outcome.status) {
            let killed = if self.is_killed { "is" } else { "isn't" };
            return Err(Stop::Failed(format!(
                "natively: its head says that it {killed} killed by a signal: {outcome:?}"
            )));
        }
        Ok(outcome)
    }

    /// A run with that many rounds; standard input is the guest's own source.
    pub fn job(&self, rounds: u64) -> Job {
        let mut job = Job::new([self.executable().as_os_str(), rounds.to_string().as_ref()]);
        job.stdin = Some(self.source.clone());
        job
    }

    /// The executable, compiled at the first call.
    pub fn executable(&self) -> &Path {
        self.built.get_or_init(|| {
            build(&self.name, &self.source, &self.flags)
                .unwrap_or_else(|e| panic!("cannot build guest {}: {e}", self.name))
        })
    }
}

fn cpu_flags() -> Vec<String> {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
    line.split_whitespace().map(str::to_owned).collect()
}
