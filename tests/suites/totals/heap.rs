//! `heap --massif`: the same however a run is cut, and what valgrind's massif says of the peak.

use std::fs;
use std::process::Command;

use suites::guest;
use suites::run::{Job, Scratch, run};
use suites::superpin::command;
use suites::workload;

/// The file that it writes.
fn written(options: &str, job: &Job) -> String {
    let scratch = Scratch::new().unwrap();
    let file = scratch.beside("massif.out");
    let mut words = command();
    words.extend(options.split(' ').map(Into::into));
    // With most optimisations off, a slice is six hundred times as slow as the app.
    words.extend(["-spgrace", "0"].map(Into::into));
    words.extend(["-t", "heap", "--massif", "-o"].map(Into::into));
    words.extend([file.clone().into(), "--".into()]);
    let outcome = run(&job.clone().under(words)).unwrap();
    assert_eq!(outcome.status, 0, "{options}: {}", String::from_utf8_lossy(&outcome.stderr));
    fs::read_to_string(file).unwrap()
}

/// Bytes that the app has at the peak.
fn peak(file: &str) -> u64 {
    let before = file.split_once("heap_tree=peak").expect("there is a peak").0;
    let bytes = before.lines().rev().find_map(|line| line.strip_prefix("mem_heap_B="));
    bytes.and_then(|bytes| bytes.parse().ok()).expect("a snapshot has bytes")
}

#[test]
fn sizes_over_time_are_the_same_however_a_run_is_cut() {
    let guest = guest::named("containers").job(1);
    let ways = ["-sp 1 -spmsec 5", "-sp 1 -spsysrecs 0", "-sp 1 -spsysrecs 3 -trace-ins 3", "-sp 0 -check-tool 1"];
    let serial = written("-sp 0", &guest);
    ways.iter().for_each(|way| assert_eq!(written(way, &guest), serial, "{way}"));
    let program = workload::named("sqlite3").job(1);
    let serial = written("-sp 0", &program);
    assert_eq!(written("-sp 1 -spmsec 30", &program), serial);
    // A region that begins where slices don't.
    let region = "-skip 1000000 -trace 50000000";
    let serial = written(&format!("-sp 0 {region}"), &program);
    assert_eq!(written(&format!("-sp 1 -spsysrecs 2 {region}"), &program), serial);
}

#[test]
fn the_peak_is_that_of_massif() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("skipped: valgrind isn't installed: scripts/install-deps.sh");
        return;
    }
    let job = guest::named("containers").job(1);
    let scratch = Scratch::new().unwrap();
    let file = scratch.beside("massif.out");
    let words = ["valgrind", "-q", "--tool=massif", "--time-unit=i", "--peak-inaccuracy=0.0"];
    let mut words: Vec<_> = words.map(Into::into).into();
    words.push(format!("--massif-out-file={}", file.display()).into());
    assert_eq!(run(&job.clone().under(words)).unwrap().status, 0);
    assert_eq!(peak(&written("-sp 0", &job)), peak(&fs::read_to_string(file).unwrap()));
}
