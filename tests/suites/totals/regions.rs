//! A region of a run is the same instructions whatever the cuts, and what was executed before it is known: random tools (`tools/api/examples/random`), one that numbers what is executed, one that
//! stops and ends slices, and counts, over all guests, serially and in slices.
//!
//! `SEED=N` draws other regions and tools. `cargo test -p suites --test regions -- /loops` runs one guest.

use std::process::ExitCode;

use suites::guest::{self, Guest};
use suites::selection::{Selection, changed_guests};
use suites::superpin::{SERIAL, count_with};
use suites::trials::{self, Stop, Test};
use suites::watched::Watched;

/// Ways to run, each to give what the first gives.
const WAYS: [&str; 5] = [
    "-sp 0",
    "-sp 1 -spmsec 5",
    "-sp 1 -spsysrecs 0",
    "-sp 1 -spmsec 2 -trace-blocks 1 -share 0",
    "-sp 0 -trace-ins 3 -engine no-inline,no-anywhere,no-shards",
];

/// Rounds in which each guest comes once.
const SHARES: usize = 96;

/// The ways of a round: the first, and one or two of the others.
fn ways() -> impl Iterator<Item = &'static str> {
    let others = WAYS[1..].iter().enumerate().filter(|(n, _)| Selection::asked().has("ways", *n, WAYS.len() - 2));
    [WAYS[0]].into_iter().chain(others.map(|(_, way)| *way))
}

fn main() -> ExitCode {
    trials::run(guest::all().iter().filter(|guest| guest.sees_the_same()).map(test).collect(), true)
}

fn test(guest: &'static Guest) -> Test {
    let is_selected = Selection::asked().has(&guest.name, 0, SHARES) || changed_guests().contains(guest.source_name());
    Test::new(format!("regions/{}", guest.name), move || check(guest)).only_if(is_selected)
}

fn check(guest: &'static Guest) -> Result<(), Stop> {
    guest.runs_here()?;
    let rounds = guest.large.div_ceil(10);
    let native = guest.natively(rounds)?;
    let run = Run(Watched::new(guest, rounds, &native));
    let seed = run.0.seed;
    let own: Vec<&str> = guest.options.iter().map(String::as_str).collect();
    let counted = count_with("icount2", &[SERIAL.options, &own].concat(), &guest.job(rounds));
    let total = counted.map_err(|e| e.to_string())?.total.ok_or_else(|| "no total".to_owned())?;
    let drawn = |n: u64| total * (1 + (seed + n).wrapping_mul(0x9e37_79b9_7f4a_7c15) % 97) / 99;
    let (first, second) = (drawn(1).min(drawn(2)), drawn(1).max(drawn(2)) + 1);
    for region in [format!("-start-icount {first} -stop-icount {second}"), format!("-skip {second} -trace 100")] {
        run.check("random", &region)?;
    }
    for region in ["-skip 0".to_owned(), format!("-skip {first} -trace 20k")] {
        run.check("numbered", &region)?;
    }
    for asked in [format!("--at {first}"), format!("--every {}", second / 3 + 1)] {
        run.check(&format!("stopping {asked}"), "-then go-on")?;
    }
    // A block that is executed somewhere in the middle.
    let all = run.0.seen("random", &format!("-sp 0 -skip {first}"))?;
    let addresses: Vec<&str> =
        all.lines().filter_map(|line| line.split(' ').nth(1).filter(|_| !line.starts_with("word"))).collect();
    // A region in which a short app executes nothing has no line of a block.
    let addresses: Vec<&str> = addresses.into_iter().filter(|text| u64::from_str_radix(text, 16).is_ok()).collect();
    let Some(place) = addresses.get(addresses.len() / 2) else { return Ok(()) };
    run.check("random", &format!("-start-address 0x{place}:2 -skip 5 -stop-address 0x{place}:3"))?;
    Ok(run.counts(first, second, total)?)
}

struct Run<'a>(Watched<'a>);

impl Run<'_> {
    /// The same is seen in all ways.
    fn check(&self, tool: &str, region: &str) -> Result<(), String> {
        let seen = |way: &str| self.0.seen(tool, &format!("{way} {region}"));
        let serial = seen(WAYS[0])?;
        for way in ways().skip(1) {
            let seen = seen(way)?;
            if seen != serial {
                let differ = serial.lines().zip(seen.lines()).filter(|(a, b)| a != b).take(8);
                let differ: Vec<String> = differ.map(|(a, b)| format!("serially {a}, here {b}")).collect();
                return Err(format!("SEED={}, {tool}, {way}, {region}: {}", self.0.seed, differ.join("\n")));
            }
        }
        Ok(())
    }

    /// The parts of a run have as many instructions as their options say, and add up to it.
    fn counts(&self, first: u64, second: u64, total: u64) -> Result<(), String> {
        let own: Vec<&str> = self.0.guest.options.iter().map(String::as_str).collect();
        for mode in [&["-sp", "0"][..], &["-sp", "1", "-spmsec", "5"]] {
            let parts = [(0, first), (first, second), (second, total)];
            for (start, stop) in parts.into_iter().filter(|(start, stop)| start < stop) {
                let ends = [start, stop].map(|end| end.to_string());
                let region = ["-start-icount", &ends[0], "-stop-icount", &ends[1]];
                // The last one has no end of its own: the app may end by an instruction that raises a signal, and right before such a one no region ends in slices.
                let region = if stop == total { &region[..2] } else { &region[..] };
                let tool = if start == first { "icount1" } else { "icount2" };
                let counted = count_with(tool, &[mode, &own, region].concat(), &self.0.guest.job(self.0.rounds));
                let counted = counted.map_err(|e| e.to_string())?;
                if counted.total != Some(stop - start) {
                    return Err(format!(
                        "{mode:?} {region:?}: {:?} instructions\n{:?}",
                        counted.total, counted.outcome
                    ));
                }
            }
        }
        Ok(())
    }
}
