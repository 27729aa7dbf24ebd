//! Real programs: output, files and exit status as natively, equal totals however the run is cut.

use std::process::ExitCode;
use std::sync::OnceLock;

use suites::run::{Job, Outcome, run};
use suites::selection::Selection;
use suites::superpin::{SERIAL, count_with, total_of};
use suites::trials::{self, Stop, Test};
use suites::workload::{THREADED, WORKLOADS, Workload};

const MEGABYTES: usize = 1;

/// How a run is cut, besides serially.
const CUTS: &[(&str, &[&str])] = &[
    ("10ms", &["-sp", "1", "-spmsec", "10"]),
    ("50ms-two", &["-sp", "1", "-spmsec", "50", "-spmp", "2"]),
    ("20-calls-verified", &["-sp", "1", "-spsysrecs", "20", "-spmsec", "100", "-spverify", "1"]),
    ("defaults", &["-sp", "1"]),
];

/// How programs with threads are run.
const THREADED_WAYS: [(&str, &[&str]); 4] = [
    ("threads", SERIAL.options),
    ("threads-50ms", &["-sp", "1", "-spmsec", "50"]),
    ("threads-5ms", &["-sp", "1", "-spmsec", "5", "-spverify", "1"]),
    ("threads-calls", &["-sp", "1", "-spsysrecs", "50"]),
];

/// In how many successive rounds each program comes in each way once.
const SHARES: usize = 24;

/// The same of programs with threads.
const THREADED_SHARES: usize = 8;

fn main() -> ExitCode {
    let tests = WORKLOADS.iter().flat_map(|workload| {
        let base: &'static Base = Box::leak(Box::new(Base { workload, found: OnceLock::new() }));
        let serial = test("serial", workload, move || base.get().as_ref().map(drop).map_err(Clone::clone));
        let addresses = test("addresses", workload, move || check_addresses(workload));
        let cuts = CUTS.iter().map(move |(name, options)| test(name, workload, move || check(base, options)));
        let ways = [serial, addresses].into_iter().chain(cuts).enumerate();
        ways.map(|(n, test)| test.only_if(Selection::asked().has(workload.name, n, SHARES)))
    });
    let threaded = THREADED.iter().flat_map(|workload| {
        let ways = THREADED_WAYS.iter().enumerate();
        ways.map(move |(n, (way, options))| {
            let test = test(way, workload, move || check_threads(workload, options));
            test.only_if(Selection::asked().has(workload.name, n, THREADED_SHARES))
        })
    });
    trials::run(tests.chain(threaded).collect(), true)
}

fn test(way: &str, workload: &'static Workload, check: impl FnOnce() -> Result<(), String> + Send + 'static) -> Test {
    Test::new(format!("{way}/{}", workload.name), move || match workload.program() {
        Some(_) => check().map_err(Stop::Failed),
        None => Err(Stop::Skipped(format!("{} isn't installed: scripts/install-deps.sh", workload.name))),
    })
}

/// What all runs of a program are compared with, found by the first test that needs it.
struct Base {
    workload: &'static Workload,
    found: OnceLock<Result<Found, String>>,
}

struct Found {
    job: Job,
    native: Outcome,
    total: u64,
}

impl Base {
    fn get(&self) -> &Result<Found, String> {
        self.found.get_or_init(|| {
            let job = self.workload.job(MEGABYTES);
            let native = run(&job).map_err(|e| e.to_string())?;
            let once = || {
                let counted = count_with(SERIAL.tool, SERIAL.options, &job).map_err(|e| e.to_string())?;
                total_of(&counted, &native)
            };
            let (total, again) = (once()?, once()?);
            if self.workload.repeats && total != again {
                return Err(format!("two serial runs gave {total} and {again}"));
            }
            Ok(Found { job, native, total })
        })
    }
}

/// The addresses of all memory accesses, in order, are the same serially and in slices.
fn check_addresses(workload: &Workload) -> Result<(), String> {
    let job = workload.job(MEGABYTES);
    let native = run(&job).map_err(|e| e.to_string())?;
    let total = |options| {
        let counted = count_with("memaddr", options, &job).map_err(|e| e.to_string())?;
        total_of(&counted, &native)
    };
    let (serial, sliced) = (total(&["-sp", "0"])?, total(&["-sp", "1", "-spmsec", "30", "-spsysrecs", "200"])?);
    // jq puts its current directory's path into a hash table: in another directory it takes the same steps at other addresses.
    let repeats = workload.repeats && workload.name != "jq";
    if repeats && serial != sliced {
        return Err(format!("checksum {sliced:x}, serially {serial:x}"));
    }
    Ok(())
}

/// A program with threads does what it does natively, and has a total, which is the sum of what its threads have.
fn check_threads(workload: &Workload, options: &[&str]) -> Result<(), String> {
    let job = workload.job(MEGABYTES);
    let native = run(&job).map_err(|e| e.to_string())?;
    let by_thread = format!("{} -threads 1", SERIAL.tool);
    let counted = count_with(&by_thread, options, &job).map_err(|e| e.to_string())?;
    let total = total_of(&counted, &native)?;
    let lines: Vec<u64> = counted.printed.lines().filter_map(of_thread).collect();
    // One may have been started and have ended with the process before its first turn.
    let most = counted.statistic("threads").unwrap_or_default() as usize + 1;
    if !(2..=most).contains(&lines.len()) || lines.iter().sum::<u64>() != total {
        return Err(format!("{} threads were started\n{}", most - 1, counted.printed));
    }
    Ok(())
}

/// How much a thread has executed, in a line of `-threads 1`.
fn of_thread(line: &str) -> Option<u64> {
    line.split_once(" thread ")?.0.trim().parse().ok()
}

fn check(base: &Base, options: &[&str]) -> Result<(), String> {
    let found = base.get().as_ref().map_err(Clone::clone)?;
    let counted = count_with(SERIAL.tool, options, &found.job).map_err(|e| e.to_string())?;
    let total = total_of(&counted, &found.native)?;
    if base.workload.repeats && total != found.total {
        return Err(format!("total {total}, serially {}: {:+}", found.total, total.wrapping_sub(found.total) as i64));
    }
    Ok(())
}
