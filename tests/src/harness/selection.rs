//! Which tests a run has: a share that moves on with each commit, so that some commits together have all.
//!
//! The whole matrix of guests and modes takes the better part of an hour. A run has a part of it, by its *round*, which is the number of commits (the
//! variable SUITE_ROUND says another one). What is one of N parts of something comes in a round, by its name and the round's number. `SUITE=all` in the environment, or a filter on
//! the command line, leaves nothing out; what the last commit or the working tree has changed isn't left out either.

use std::collections::BTreeSet;
use std::env;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use bubble::switches::Optimisation;

/// What this run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Everything.
    All,
    /// A share.
    Round(u64),
}

impl Selection {
    /// What the environment asks for.
    ///
    /// # Panics
    ///
    /// If a variable has another value than it can have.
    pub fn asked() -> Self {
        static ASKED: OnceLock<Selection> = OnceLock::new();
        *ASKED.get_or_init(|| match env::var("SUITE").as_deref() {
            Ok("all") => Self::All,
            Ok(other) if !other.is_empty() => panic!("SUITE={other}: there is only `all`"),
            _ => Self::Round(round()),
        })
    }

    /// Whether it has part `part` of the `parts` of something.
    pub fn has(self, name: &str, part: usize, parts: usize) -> bool {
        match self {
            Self::All => true,
            Self::Round(round) => part as u64 % parts as u64 == turn(name, round, parts as u64),
        }
    }

    /// What is off of the engine's optimisations in the test that has this place among those of a run: in each fourth one of them, each in turn, and in each
    /// fortieth all but IBL stubs, without which as well it takes minutes.
    pub fn switches_off(self, place: usize) -> Option<String> {
        let Self::Round(round) = self else { return None };
        if place % 40 == 39 {
            return Some("none,ibl-stubs".to_owned());
        }
        let all = Optimisation::ALL;
        // Of the places before it with one off, so many are of the other sort.
        let one = all[(place / 4 - place / 40 + round as usize) % all.len()];
        (place % 4 == 3).then(|| format!("no-{}", one.name()))
    }
}

/// The part of a name whose turn it is. In any `parts` rounds from a multiple of `parts` on, each part has one turn. Where it begins there is up to chance, for the sake of
/// those who don't test each commit: whoever tests each thirty-second would else see the same part each time.
fn turn(name: &str, round: u64, parts: u64) -> u64 {
    (mixed(hash(name) << 32 ^ (round / parts)) + round % parts) % parts
}

/// The same in all versions of everything (FNV-1a, its upper half).
pub(crate) fn hash(name: &str) -> u64 {
    let mixed =
        name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    mixed >> 32
}

/// As good as any number by chance, and always the same (splitmix64, its upper half).
fn mixed(number: u64) -> u64 {
    let a = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let b = (a ^ (a >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let c = (b ^ (b >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (c ^ (c >> 31)) >> 32
}

/// The round's number, also where everything comes.
///
/// # Panics
/// If `SUITE_ROUND` isn't a number.
pub fn round() -> u64 {
    match env::var("SUITE_ROUND") {
        Ok(number) => number.parse().unwrap_or_else(|_| panic!("SUITE_ROUND={number} is not a number")),
        Err(_) => round_of_commit(),
    }
}

/// The number of commits; for a clone that has only some of them the commit's own number, and for a copy without any always the same.
fn round_of_commit() -> u64 {
    let count = || git(&["rev-list", "--count", "HEAD"])?.parse().ok();
    let own = || u64::from_str_radix(git(&["rev-parse", "HEAD"])?.get(..8)?, 16).ok();
    let is_shallow = git(&["rev-parse", "--is-shallow-repository"]).is_some_and(|text| text == "true");
    (if is_shallow { own() } else { count() }).unwrap_or(0)
}

/// Names, without what follows the first dot, of the files of `tests/guests` that differ from those of the commit before the last.
pub fn changed_guests() -> &'static BTreeSet<String> {
    static CHANGED: OnceLock<BTreeSet<String>> = OnceLock::new();
    CHANGED.get_or_init(|| {
        let differ = git(&["diff", "--name-status", "-M", "HEAD~1", "--", "guests"]).unwrap_or_default();
        let new = git(&["ls-files", "--others", "--exclude-standard", "--", "guests"]).unwrap_or_default();
        let stem = |path: &str| Some(Path::new(path).file_name()?.to_str()?.split('.').next()?.to_owned());
        differ.lines().filter_map(path_of_change).chain(new.lines()).filter_map(stem).collect()
    })
}

/// The file that a line of `git diff --name-status` is about, if it has changed: one that has only moved hasn't.
fn path_of_change(line: &str) -> Option<&str> {
    let (what, paths) = line.split_once('\t')?;
    (what != "R100").then(|| paths.rsplit('\t').next())?
}

fn git(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null()).stderr(Stdio::null());
    let output = command.output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest;
    use crate::superpin::{MODES, SHARES};

    fn has(round: u64, guest: &str, mode: usize) -> bool {
        Selection::Round(round).has(guest, mode, SHARES)
    }

    #[test]
    fn successive_rounds_have_each_pair_once() {
        for first in [0, 192, 1600] {
            for guest in guest::all() {
                for mode in 0..MODES.len() {
                    let times = (first..first + SHARES as u64).filter(|round| has(*round, &guest.name, mode)).count();
                    assert_eq!(times, 1, "{} in mode {mode}", guest.name);
                }
            }
        }
    }

    #[test]
    fn so_have_rounds_that_leave_some_out() {
        for every in [2, 3, 10, 16, 32, 33, 64] {
            let rounds = (0..).step_by(every).take(1024);
            let mut missing: BTreeSet<(usize, usize)> =
                (0..guest::all().len()).flat_map(|g| (0..MODES.len()).map(move |m| (g, m))).collect();
            rounds.for_each(|round: u64| missing.retain(|(g, m)| !has(round, &guest::all()[*g].name, *m)));
            assert!(missing.is_empty(), "{} pairs never come if each {every}th commit is tested", missing.len());
        }
    }

    #[test]
    fn each_round_has_all_modes_all_guests_and_all_switches() {
        for round in 0..40 {
            for mode in 0..MODES.len() {
                assert!(guest::all().iter().any(|g| has(round, &g.name, mode)), "mode {mode} in round {round}");
            }
            let pairs = guest::all().iter().flat_map(|g| (0..MODES.len()).filter(|m| has(round, &g.name, *m)));
            let off: BTreeSet<String> =
                pairs.enumerate().filter_map(|(place, _)| Selection::Round(round).switches_off(place)).collect();
            assert_eq!(off.len(), Optimisation::ALL.len() + 1, "round {round}: {off:?}");
        }
    }

    #[test]
    fn a_guest_that_has_only_moved_has_not_changed() {
        let of = |line: &str| path_of_change(line).map(str::to_owned);
        assert_eq!(of("M\tguests/a/x.c"), Some("guests/a/x.c".to_owned()));
        assert_eq!(of("R096\tguests/x.c\tguests/a/x.c"), Some("guests/a/x.c".to_owned()));
        assert_eq!(of("R100\tguests/x.c\tguests/a/x.c"), None);
    }

    #[test]
    fn all_leaves_nothing_out() {
        assert!((0..5).all(|part| Selection::All.has("a", part, 5)));
        assert!((0..100).all(|place| Selection::All.switches_off(place).is_none()));
    }
}
