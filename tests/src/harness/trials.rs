//! Suites whose tests are found at run time: what they are, which of them run, and what was skipped and why.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Completion, Failed, Trial};

use crate::selection::Selection;

pub use crate::stop::Stop;
use crate::{deadline, switches};

type Check = Box<dyn FnOnce() -> Result<(), Stop> + Send>;

/// A test of a suite.
pub struct Test {
    name: String,
    /// Whether it runs where only a share does.
    is_selected: bool,
    check: Check,
}

impl Test {
    /// A test that every run has.
    pub fn new<E: Into<Stop>>(name: String, check: impl FnOnce() -> Result<(), E> + Send + 'static) -> Self {
        Self { name, is_selected: true, check: Box::new(move || check().map_err(Into::into)) }
    }

    /// The same test, which only some runs have: those for which this is so.
    pub fn only_if(self, is_selected: bool) -> Self {
        Self { is_selected, ..self }
    }
}

/// Runs the tests that the command line and the environment ask for. `with_switches` says whether in a share some of the engine's optimisations are off in some of the
/// tests.
pub fn run(tests: Vec<Test>, with_switches: bool) -> ExitCode {
    let arguments = Arguments::from_args();
    let selection = if arguments.filter.is_some() { Selection::All } else { Selection::asked() };
    let all = tests.len();
    let selected: Vec<Test> =
        tests.into_iter().filter(|test| selection == Selection::All || test.is_selected).collect();
    if let Selection::Round(round) = selection
        && !arguments.list
    {
        let number = selected.len();
        eprintln!(
            "{number} of {all} tests, those of round {round} (SUITE=all or a filter: all; SUITE_ROUND=N: others)"
        );
    }
    let (skipped, slow): (Skipped, Slow) = Default::default();
    let trials = selected.into_iter().enumerate().map(|(place, test)| {
        let off = selection.switches_off(place).filter(|_| with_switches);
        trial(test, off, skipped.clone(), slow.clone())
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    let skipped = skipped.lock().unwrap_or_else(PoisonError::into_inner);
    if !skipped.is_empty() {
        eprintln!("skipped, since this machine can't run them:\n{}", summary(&skipped));
    }
    let slow = slow.lock().unwrap_or_else(PoisonError::into_inner);
    if !slow.is_empty() {
        eprintln!("took long:\n{}", slowest(&slow));
    }
    conclusion.exit_code()
}

/// A test that takes longer is named in the end: it makes all others wait.
const LONG: Duration = Duration::from_secs(10);

/// Names of tests that took long, and how long.
type Slow = Arc<Mutex<Vec<(Duration, String)>>>;

/// Names of tests, and why they were skipped.
type Skipped = Arc<Mutex<Vec<(String, String)>>>;

fn trial(test: Test, off: Option<String>, skipped: Skipped, slow: Slow) -> Trial {
    let Test { name, check, .. } = test;
    Trial::ignorable_test(name.clone(), move || {
        deadline::begin();
        let begin = Instant::now();
        let done = switches::during(&name, off, check);
        if begin.elapsed() > LONG {
            slow.lock().unwrap_or_else(PoisonError::into_inner).push((begin.elapsed(), name.clone()));
        }
        match done {
            Ok(()) => Ok(Completion::Completed),
            Err(Stop::Failed(error)) => Err(Failed::from(error)),
            Err(Stop::Skipped(why)) => {
                skipped.lock().unwrap_or_else(PoisonError::into_inner).push((name, why.clone()));
                Ok(Completion::ignored_with(why))
            }
        }
    })
}

/// A line for each reason, with each guest or program once, in however many modes it was skipped.
fn summary(skipped: &[(String, String)]) -> String {
    let mut reasons: Vec<&str> = skipped.iter().map(|(_, why)| why.as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let mut text = String::new();
    for reason in reasons {
        let mut names: Vec<&str> =
            skipped.iter().filter(|(_, why)| why == reason).map(|(name, _)| short(name)).collect();
        names.sort_unstable();
        names.dedup();
        let _ = writeln!(text, "  {reason}: {}", names.join(", "));
    }
    text
}

/// A line for each, the one that took longest first.
fn slowest(slow: &[(Duration, String)]) -> String {
    let mut sorted = slow.to_vec();
    sorted.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    sorted.iter().map(|(time, name)| format!("  {} s: {name}\n", time.as_secs())).collect()
}

/// What is behind the mode in a test's name.
fn short(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, what)| what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_skipped_is_told_by_reason() {
        let skipped = [("m/b", "no x"), ("c", "no y"), ("a", "no x"), ("n/b", "no x")]
            .map(|(name, why)| (name.to_owned(), why.to_owned()));
        assert_eq!(summary(&skipped), "  no x: a, b\n  no y: c\n");
    }

    #[test]
    fn what_took_long_is_told_by_time() {
        let slow = [(11, "m/a"), (70, "b")].map(|(time, name)| (Duration::from_secs(time), name.to_owned()));
        assert_eq!(slowest(&slow), "  70 s: b\n  11 s: m/a\n");
    }
}
