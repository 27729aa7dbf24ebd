//! What a tool sees doesn't depend on where slices end, where traces are cut, what is optimised, or what an earlier run has kept: random tools
//! (`tools/api/examples/random`) over all guests, each way compared with a serial run.
//!
//! Each round draws other tools; `SEED=N` draws those of seed N. `cargo test -p suites --test tools -- /loops` runs one guest.

use std::collections::BTreeMap;
use std::process::ExitCode;

use suites::guest::{self, Guest};
use suites::run::Scratch;
use suites::selection::{Selection, changed_guests};
use suites::superpin::{SERIAL, count_with};
use suites::trials::{self, Stop, Test};
use suites::watched::Watched;

/// Instructions of a guest at most, where it can do less.
const MOST: u64 = 20_000_000;

/// Ways to run, each to give what the first gives. `beside`: another random tool looks at the run as well.
const WAYS: [&str; 14] = [
    "-sp 0",
    "-sp 1 -spmsec 5",
    "-sp 1 -spmsec 2 -trace-blocks 1",
    "-sp 1 -spsysrecs 0 -share 0",
    "-sp 1 -spsysrecs 2 -trace-ins 3",
    "-sp 1 -spmsec 3 -engine no-merge,no-anywhere",
    "-sp 1 -spmsec 5 -spverify 1",
    "-sp 0 -trace-ins 3",
    "-sp 0 -trace-blocks 1 -engine no-inline,no-anywhere,no-shards",
    "-sp 1 -spmsec 5 -persist",
    "-sp 0 -check-tool 1",
    "-sp 1 -spmsec 5 -check-tool 1",
    "-sp 0 beside",
    "-sp 1 -spmsec 5 beside",
];

/// The same for guests with threads. What the tool wants to see of threads comes last.
const WAYS_OF_THREADS: [&str; 11] = [
    "-sp 0",
    "-sp 0 --threads 2",
    "-sp 1 -spmsec 5 --threads 2",
    "-sp 1 -spmsec 2 -trace-ins 3 --threads 1",
    "-sp 1 -spsysrecs 3 -spverify 1 --threads 2",
    "-sp 1 -spsysrecs 0 -share 0 --threads 1",
    "-sp 0 -trace-ins 3 --threads 1",
    "-sp 0 -trace-blocks 1 -engine no-inline,no-anywhere,no-shards --threads 2",
    "-sp 0 -check-tool 1 --threads 1",
    "-sp 0 -check-tool 1 --threads 2",
    "-sp 1 -spmsec 5 beside --threads 2",
];

/// Rounds in which each guest comes once.
const SHARES: usize = 96;

fn main() -> ExitCode {
    let of_guests = guest::all().iter().filter(|guest| repeats(guest)).map(test);
    trials::run(of_guests.chain(FOUND.map(found_test)).collect(), true)
}

/// Whether two runs of it see the same at all.
fn repeats(guest: &Guest) -> bool {
    has_threads(guest) || guest.sees_the_same()
}

/// Whether its threads see the same in each run, although they take other turns.
fn has_threads(guest: &Guest) -> bool {
    guest.repeats && !guest.order_repeats && guest.name.starts_with("threads")
}

fn test(guest: &'static Guest) -> Test {
    let is_selected = Selection::asked().has(&guest.name, 0, SHARES) || changed_guests().contains(guest.source_name());
    Test::new(format!("tools/{}", guest.name), move || check(guest)).only_if(is_selected)
}

fn check(guest: &'static Guest) -> Result<(), Stop> {
    guest.runs_here()?;
    let rounds = guest.large.div_ceil(10);
    // Where it doesn't end natively, no run of it does.
    guest.natively(rounds)?;
    // A tool may have a call for each instruction, half a microsecond each, and there are ten ways to run it.
    let counted = count_with("icount2", SERIAL.options, &guest.job(rounds)).map_err(|e| e.to_string())?;
    let executed = counted.total.unwrap_or(0);
    let rounds = if executed > MOST { (rounds * MOST / executed).max(1) } else { rounds };
    let native = guest.natively(rounds)?;
    let watched = Watched::new(guest, rounds, &native);
    // What all threads have seen, and each.
    let mut serial = [None, None];
    let ways = if has_threads(guest) { &WAYS_OF_THREADS[..] } else { &WAYS };
    for &way in ways {
        let scratch = Scratch::new().map_err(|e| e.to_string())?;
        let seen = match way.strip_suffix(" -persist") {
            None => seen(&watched, way)?,
            Some(way) => {
                let way = format!("{way} -persist {}", scratch.beside("kept").display());
                seen(&watched, &way)?;
                seen(&watched, &way)?
            }
        };
        let (threads, all): (Seen, Seen) = seen.into_iter().partition(|(key, _)| key.starts_with("thread"));
        for (expected, seen) in serial.iter_mut().zip([all, threads]).filter(|(_, seen)| !seen.is_empty()) {
            if let Some(difference) = differs(expected.get_or_insert_with(|| seen.clone()), &seen) {
                return Err(format!("SEED={}, {way}: {difference}", watched.seed).into());
            }
        }
    }
    // Which blocks are counted is each tool's own, and whether by thread.
    let other = if has_threads(guest) { "random --threads 2" } else { "counting" };
    let beside = format!("{other} --seed {} -o /dev/null -t counting --seed {}", watched.seed + 1, watched.seed);
    let alone = watched.seen(&format!("counting --seed {}", watched.seed), "-sp 0")?;
    for way in ["-sp 0", "-sp 1 -spmsec 5"] {
        if watched.seen(&beside, way)? != alone {
            return Err(format!("SEED={}, {way}: counts other blocks than alone", watched.seed).into());
        }
    }
    Ok(())
}

/// The tool, behind another one like it.
fn beside(watched: &Watched<'_>, tool: &str) -> String {
    format!("{tool} --seed {} -o /dev/null -t {tool}", watched.seed + 1)
}

/// What was once seen differently, whatever the round: guests, seeds, and how much they do.
const FOUND: [(&str, u64, u64); 1] = [("threads_paths", 610, 300)];

fn found_test((name, seed, rounds): (&'static str, u64, u64)) -> Test {
    Test::new(format!("found/{name}.{seed}"), move || {
        let guest = guest::named(name);
        guest.runs_here()?;
        let native = guest.natively(rounds)?;
        let watched = Watched { seed, ..Watched::new(guest, rounds, &native) };
        let difference = differs(&seen(&watched, "-sp 0")?, &seen(&watched, "-sp 1 -spmsec 5")?);
        difference.map_or(Ok(()), |difference| Err(Stop::from(difference)))
    })
}

/// Kind and block, or a thread, and what was seen there.
type Seen = BTreeMap<String, String>;

/// What the tool prints, line by line.
fn seen(watched: &Watched<'_>, way: &str) -> Result<Seen, String> {
    let (options, threads) = way.split_once(" --threads ").unwrap_or((way, "0"));
    let (options, is_beside) = options.strip_suffix(" beside").map_or((options, false), |options| (options, true));
    let tool = format!("random --threads {threads}");
    let text = watched.seen(&if is_beside { beside(watched, &tool) } else { tool }, options)?;
    let line = |line: &str| {
        let at = if line.starts_with("word") || line.starts_with("thread") { 2 } else { 3 };
        let split = line.match_indices(' ').nth(at - 1).map_or(line.len(), |(place, _)| place);
        (line[..split].to_owned(), line[split..].to_owned())
    };
    // What can be read behind an address depends on what other threads have mapped by then.
    let is_compared = |line: &&str| !(has_threads(watched.guest) && line.starts_with("22 "));
    let seen: Seen = text.lines().filter(is_compared).map(line).collect();
    if seen.len() < 4 { Err(format!("{way}: it has seen nothing")) } else { Ok(seen) }
}

/// The first things that two runs have seen differently.
fn differs(serial: &Seen, other: &Seen) -> Option<String> {
    let keys: std::collections::BTreeSet<&String> = serial.keys().chain(other.keys()).collect();
    let differ = keys.into_iter().filter(|key| serial.get(*key) != other.get(*key));
    let told = |key: &String| format!("{key}: serially {:?}, here {:?}", serial.get(key), other.get(key));
    let told: Vec<String> = differ.map(told).collect();
    let few = told.iter().take(8).cloned().collect::<Vec<_>>().join("\n");
    (!told.is_empty()).then(|| format!("{} things differ\n{few}", told.len()))
}
