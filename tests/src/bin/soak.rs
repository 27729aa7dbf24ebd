//! Many sliced runs of real programs with different tools, each cut in another way and verified at each boundary; all must give the serial
//! total.
//!
//! `soak [RUNS] [SEED] [PROGRAM …]`: the seed is printed; with it the same cuts are made again (0: another one each time). Without names it takes all programs
//! that are installed.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use suites::deadline;
use suites::random::Random;
use suites::run::{Job, Outcome, run};
use suites::superpin::{Counted, SERIAL, count_with, total_of};
use suites::switches;
use suites::workload::{EVERYDAY, THREADED, WORKLOADS, Workload, named};

/// The tools to choose from, the cheapest one most often.
const TOOLS: [&str; 8] = ["icount2", "icount2", "icount2", "icount1", "memaddr", "dcache", "allcache", "bpred"];

struct Base {
    workload: &'static Workload,
    job: Job,
    native: Outcome,
    /// Tools with their serial totals; none where it isn't the same each time.
    totals: Vec<(&'static str, Option<u64>)>,
}

impl Base {
    fn new(workload: &'static Workload) -> Result<Self, String> {
        let job = workload.job(1);
        let native = run(&job).map_err(|e| e.to_string())?;
        Ok(Self { workload, job, native, totals: Vec::new() })
    }

    /// The serial total of a tool, if there is one.
    fn total(&mut self, tool: &'static str) -> Result<Option<u64>, String> {
        if let Some((_, total)) = self.totals.iter().find(|(name, _)| *name == tool) {
            return Ok(*total);
        }
        let serially = || -> Result<u64, String> {
            let counted = count_with(tool, SERIAL.options, &self.job).map_err(|e| e.to_string())?;
            total_of(&counted, &self.native).map_err(|error| superpins_words(&counted).unwrap_or(error))
        };
        let total = serially()?;
        let repeats = self.workload.repeats && !self.workload.has_threads() && serially()? == total;
        println!("{}: {tool} {total}{}", self.workload.name, if repeats { "" } else { ", but not always" });
        let total = repeats.then_some(total);
        self.totals.push((tool, total));
        Ok(total)
    }

    /// What is wrong with a run, if anything.
    fn check(&self, counted: &Counted, serially: Option<u64>) -> Option<String> {
        match (total_of(counted, &self.native), serially) {
            (Err(error), _) => Some(superpins_words(counted).unwrap_or(error)),
            (Ok(total), Some(expected)) if total != expected => {
                Some(format!("WRONG total {total} instead of {expected}: {:+}", total.wrapping_sub(expected) as i64))
            }
            _ => None,
        }
    }
}

/// What superpin said, if it has failed.
fn superpins_words(counted: &Counted) -> Option<String> {
    let told = String::from_utf8_lossy(&counted.outcome.stderr).into_owned();
    let at = told.find("superpin: ")?;
    Some(told[at..].trim_end().to_owned())
}

/// A way to cut a run.
fn options(random: &mut Random) -> Vec<String> {
    let numbers = [("-spmsec", 200), ("-spmp", 8), ("-spsysrecs", 1000), ("-trace-blocks", 4)];
    let chosen = numbers.iter().flat_map(|(name, limit)| [(*name).to_owned(), random.up_to(*limit).to_string()]);
    let mut options: Vec<_> = ["-sp", "1", "-spverify", "1"].map(str::to_owned).into_iter().chain(chosen).collect();
    // In most runs all optimisations are on.
    if random.next() % 8 < 3 {
        // Slices may be a hundred times as slow then.
        options.extend(["-engine", &switches::some(random), "-spgrace", "0"].map(str::to_owned));
    }
    options
}

/// Numbers of the reports that are added up.
const COUNTED: [(&str, &str); 7] = [
    ("slices", "slices"),
    ("boundaries_verified", "proven by all memory"),
    ("boundaries_ambiguous", "ambiguous"),
    ("slices_begun_again", "begun again"),
    ("turns_at_slice_ends", "turns given at ends"),
    ("points", "points"),
    ("points_ambiguous", "points ambiguous"),
];

#[derive(Default)]
struct Tally {
    runs: u64,
    failures: u64,
    wrong: u64,
    /// Ends of slices that are boundaries to a next one.
    boundaries: f64,
    sums: [f64; COUNTED.len()],
}

impl Tally {
    fn add(&mut self, counted: &Counted) {
        self.runs += 1;
        for (sum, (name, _)) in self.sums.iter_mut().zip(COUNTED) {
            *sum += counted.statistic(name).unwrap_or(0.0);
        }
        self.boundaries += counted.statistic("slices").map_or(0.0, |slices| slices - 1.0);
    }

    fn print(&self) {
        let sums = self.sums.iter().zip(COUNTED).map(|(sum, (_, words))| format!("{sum} {words}"));
        let sums = sums.collect::<Vec<_>>().join(", ");
        println!(
            "{} runs, {} boundaries: {sums}; {} failed, {} of them with a wrong total",
            self.runs, self.boundaries, self.failures, self.wrong
        );
    }
}

fn main() -> ExitCode {
    match soak(std::env::args().skip(1).collect()) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(failures) => {
            println!("{failures} runs failed");
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("soak: {error}");
            ExitCode::FAILURE
        }
    }
}

fn soak(args: Vec<String>) -> Result<u64, String> {
    let number = |text: &String| text.parse::<u64>().map_err(|e| format!("{text}: {e}"));
    let runs = args.first().map_or(Ok(300), number)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |d| d.as_nanos() as u64);
    let seed = match args.get(1).map_or(Ok(0), number)? {
        0 => now.max(1),
        given => given,
    };
    let all = WORKLOADS.iter().chain(EVERYDAY).chain(THREADED).filter(|workload| workload.program().is_some());
    let chosen: Vec<&Workload> = match args.get(2..).unwrap_or(&[]) {
        [] => all.collect(),
        names => names.iter().map(|name| named(name)).collect(),
    };
    println!("{runs} runs of {} programs, seed {seed}", chosen.len());
    let (mut random, mut tally) = (Random::new(seed), Tally::default());
    let mut bases: Vec<Option<Result<Base, ()>>> = chosen.iter().map(|_| None).collect();
    for n in 0..runs {
        // Not in turns: a run that is ended early has seen them all about equally often.
        let at = (random.next() % chosen.len() as u64) as usize;
        let base = bases[at].get_or_insert_with(|| {
            Base::new(chosen[at]).map_err(|why| println!("{} is left out: {why}", chosen[at].name))
        });
        let (tool, options) = (random.pick(&TOOLS), options(&mut random));
        let Ok(base) = base else { continue };
        let serially = match base.total(tool) {
            Ok(total) => total,
            Err(why) => {
                println!("{} is left out, serially: {why}", base.workload.name);
                bases[at] = Some(Err(()));
                continue;
            }
        };
        // With all optimisations off, and a call of each instruction, some take minutes.
        deadline::is_slow(8);
        let counted = match count_with(tool, &options, &base.job) {
            Ok(counted) => counted,
            Err(error) => {
                tally.runs += 1;
                tally.failures += 1;
                println!("run {n}: {} -t {tool} {}: {error}", base.workload.name, options.join(" "));
                continue;
            }
        };
        tally.add(&counted);
        if let Some(problem) = base.check(&counted, serially) {
            tally.failures += 1;
            tally.wrong += u64::from(problem.starts_with("WRONG"));
            println!("run {n}: {} -t {tool} {}: {problem}", base.workload.name, options.join(" "));
        }
        if (n + 1) % 50 == 0 || n + 1 == runs {
            tally.print();
        }
    }
    Ok(tally.failures)
}
