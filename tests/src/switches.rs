//! Which of the engine's optimisations are off in the runs of the suites.
//!
//! The variable SUPERPIN_ENGINE says it: a list as `-engine` takes it, for all runs, or `each:SEED`: then each test has a list of its own, chosen by its
//! name and the seed, so that one pass of a suite meets each optimisation off in many tests and many combinations.

use std::cell::RefCell;
use std::env;
use std::thread;

use bubble::switches::{Off, Optimisation};
use libtest_mimic::Trial;

use crate::random::Random;

thread_local! {
    /// The name of the test that this thread does, where the harness doesn't name the thread for it.
    static TEST: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// A test of this name. Its list is told with its error.
pub fn trial(name: String, test: impl FnOnce() -> Result<(), String> + Send + 'static) -> Trial {
    Trial::test(name.clone(), move || {
        TEST.set(Some(name));
        let done = test().map_err(|error| list().map_or(error.clone(), |list| format!("with -engine {list}: {error}")));
        TEST.set(None);
        Ok(done?)
    })
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

/// Some that are off: one in most cases, any number now and then, all in a few. Not landings together with others: without them and the map of targets a run takes
/// minutes.
pub fn some(random: &mut Random) -> String {
    let name = |o: Optimisation| format!("no-{}", o.name());
    match random.next() % 12 {
        0 => "none,landings".to_owned(),
        1..4 => {
            let chosen = Optimisation::ALL.into_iter().filter(|_| random.next().is_multiple_of(2)).map(name);
            chosen.chain(["landings".to_owned()]).collect::<Vec<_>>().join(",")
        }
        _ => name(random.pick(&Optimisation::ALL)),
    }
}

fn list() -> Option<String> {
    let said = env::var("SUPERPIN_ENGINE").ok().filter(|said| !said.is_empty())?;
    let Some(seed) = said.strip_prefix("each:") else { return Some(said) };
    let seed: u64 = seed.parse().unwrap_or_else(|_| panic!("SUPERPIN_ENGINE=each:SEED takes a number, not {seed:?}"));
    let test = TEST.with_borrow(Clone::clone).or_else(|| thread::current().name().map(str::to_owned));
    Some(some(&mut Random::of(seed, test)))
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
                .all(|off| *off == Off::default().and(Optimisation::Landings) || off.leaves(Optimisation::Landings))
        );
    }
}
