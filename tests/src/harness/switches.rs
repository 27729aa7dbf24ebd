//! Which of the engine's optimisations are off in the runs of the suites.
//!
//! The variable SUPERPIN_ENGINE says it: a list as `-engine` takes it, for all runs, or `each:SEED`: then each test has a list of its own, chosen by its
//! name and the seed, so that one pass of a suite meets each optimisation off in many tests and many combinations. Where it isn't set, the run's
//! selection says it ([`crate::selection::Selection::switches_off`]).

use std::cell::RefCell;
use std::env;
use std::thread;

use bubble::switches::{Off, Optimisation};

use crate::deadline;
use crate::random::Random;
use crate::stop::Stop;

/// The test that a thread does, where the harness doesn't name the thread for it.
#[derive(Clone)]
struct Test {
    name: String,
    /// What is off where the variable says nothing.
    off: Option<String>,
}

thread_local! {
    static TEST: RefCell<Option<Test>> = const { RefCell::new(None) };
}

/// Does a test of this name, in which this is off. Its list is told with its error.
pub fn during(name: &str, off: Option<String>, test: impl FnOnce() -> Result<(), Stop>) -> Result<(), Stop> {
    TEST.set(Some(Test { name: name.to_owned(), off }));
    // Each call of an analysis routine goes through the runtime then: slices are hundreds of times as slow as the app.
    let is_slow = ![Optimisation::Inline, Optimisation::Stubs].into_iter().any(is_on);
    deadline::is_slow(if is_slow { 4 } else { 1 });
    let done = test().map_err(|stop| match (stop, list()) {
        (Stop::Failed(error), Some(list)) => Stop::Failed(format!("with -engine {list}: {error}")),
        (stop, _) => stop,
    });
    TEST.set(None);
    done
}

/// Options for all runs of this thread's test: what is off. What a test itself turns off is off beside that.
pub fn options() -> Vec<String> {
    list().map_or(Vec::new(), |list| vec!["-engine".to_owned(), list])
}

/// Whether [`options`] leave this on.
///
/// # Panics
///
/// If the variable names what isn't an optimisation.
pub fn is_on(optimisation: Optimisation) -> bool {
    let off = list().map_or(Ok(Off::default()), |list| Off::parse(&list));
    off.unwrap_or_else(|error| panic!("SUPERPIN_ENGINE: {error}")).leaves(optimisation)
}

/// Some that are off: one in most cases, any number now and then, all in a few. Not IBL stubs together with others: without them and the target map a run takes
/// minutes.
pub fn some(random: &mut Random) -> String {
    let name = |o: Optimisation| format!("no-{}", o.name());
    match random.next() % 12 {
        0 => "none,ibl-stubs".to_owned(),
        1..4 => {
            let chosen = Optimisation::ALL.into_iter().filter(|_| random.next().is_multiple_of(2)).map(name);
            chosen.chain(["ibl-stubs".to_owned()]).collect::<Vec<_>>().join(",")
        }
        _ => name(random.pick(&Optimisation::ALL)),
    }
}

fn list() -> Option<String> {
    let test = TEST.with_borrow(Clone::clone);
    let Some(said) = env::var("SUPERPIN_ENGINE").ok().filter(|said| !said.is_empty()) else { return test?.off };
    let Some(seed) = said.strip_prefix("each:") else { return Some(said) };
    let seed: u64 = seed.parse().unwrap_or_else(|_| panic!("SUPERPIN_ENGINE=each:SEED takes a number, not {seed:?}"));
    let name = test.map(|test| test.name).or_else(|| thread::current().name().map(str::to_owned));
    Some(some(&mut Random::of(seed, name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_that_is_chosen_can_be_turned_off() {
        let mut random = Random::new(1);
        let lists: Vec<Off> = (0..1000).map(|_| Off::parse(&some(&mut random)).unwrap()).collect();
        for optimisation in Optimisation::ALL {
            let alone = Off::default().and(optimisation);
            assert!(lists.contains(&alone), "{} is never off alone", optimisation.name());
        }
        assert!(
            lists
                .iter()
                .all(|off| *off == Off::default().and(Optimisation::IblStubs) || off.leaves(Optimisation::IblStubs))
        );
    }
}
