//! The published tools that were ported (docs/ported.md), on five real programs: the same result, byte for byte, serially and in slices of 20 ms. Those that are
//! fast enough also on runs of some seconds in slices of a second.

use std::process::ExitCode;

use suites::run::{Job, run};
use suites::selection::Selection;
use suites::superpin::{SERIAL, result_with};
use suites::trials::{self, Stop, Test};
use suites::workload::{WORKLOADS, Workload};

/// The tools, as `-t` takes them, with options of superpin's own that they are given.
const TOOLS: [(&str, &str); 10] = [
    ("champsim", "-skip 3000000 -trace 300000"),
    ("allcache", "-trace 100000000"),
    ("malloctrace", ""),
    ("calltrace", ""),
    ("footprint", ""),
    ("bbv --interval 1000000", ""),
    ("coverage", ""),
    ("edges --top 0", ""),
    ("mix --by routine,class", ""),
    ("reuse", "-skip 3000000 -trace 30000000"),
];

/// Tools that take less than fifty times as long as the program, and don't write as much as it executes.
const FAST: [&str; 6] = ["bbv", "coverage", "edges", "footprint", "malloctrace", "mix"];

/// The programs, and how many megabytes of input take them one and a half seconds or more.
const PROGRAMS: [(&str, usize); 5] = [("gzip", 30), ("perl", 9), ("sqlite3", 6), ("python3", 9), ("cc1", 2)];

/// Rounds in which each pair of tool and program comes once.
const SHARES: usize = 50;

fn main() -> ExitCode {
    let pairs = TOOLS.iter().flat_map(|tool| PROGRAMS.iter().map(move |program| (tool, program)));
    let tests = pairs.enumerate().flat_map(|(n, (&(tool, own), &(program, megabytes)))| {
        let short = test("short", tool, program, move |workload| check(tool, own, "20", &workload.job(1)));
        let long = test("long", tool, program, move |workload| check(tool, own, "1000", &workload.job(megabytes)));
        let is_fast = FAST.contains(&name(tool));
        let long = is_fast.then(|| long.only_if(Selection::asked() == Selection::All));
        [Some(short.only_if(Selection::asked().has("ported", n, SHARES))), long].into_iter().flatten()
    });
    trials::run(tests.collect(), false)
}

fn name(tool: &str) -> &str {
    tool.split(' ').next().unwrap_or_default()
}

fn test(
    length: &str,
    tool: &'static str,
    program: &'static str,
    check: impl FnOnce(&Workload) -> Result<(), String> + Send + 'static,
) -> Test {
    Test::new(format!("{length}/{}/{program}", name(tool)), move || {
        let workload = WORKLOADS.iter().find(|workload| workload.name == program).expect("it is one of them");
        match workload.program() {
            Some(_) => check(workload).map_err(Stop::Failed),
            None => Err(Stop::Skipped(format!("{program} isn't installed: scripts/install-deps.sh"))),
        }
    })
}

/// `own`: options of superpin's.
fn check(tool: &str, own: &str, milliseconds: &str, job: &Job) -> Result<(), String> {
    let native = run(job).map_err(|e| e.to_string())?;
    let result = |options: &[&str]| {
        let options: Vec<&str> = options.iter().copied().chain(own.split_whitespace()).collect();
        let (outcome, result) = result_with(tool, &options, job).map_err(|e| e.to_string())?;
        match outcome == native {
            true if !result.is_empty() => Ok(result),
            _ => Err(format!("{options:?}: not as natively, or no result\n{outcome:?}")),
        }
    };
    let (serial, sliced) = (result(SERIAL.options)?, result(&["-sp", "1", "-spmsec", milliseconds])?);
    match serial.iter().zip(&sliced).position(|(a, b)| a != b) {
        None if serial.len() == sliced.len() => Ok(()),
        at => {
            Err(format!("{} bytes serially, {} in slices; they differ from byte {at:?} on", serial.len(), sliced.len()))
        }
    }
}
