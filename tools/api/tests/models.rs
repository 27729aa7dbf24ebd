//! Totals that merge by name, slices' begins and ends, a predictor, and heaps: what a tool prints is the same serially and in slices, and what the program says itself.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

use suites::run::{Job, Scratch};
use suites::superpin::built_example;

const MODES: [&str; 5] = [
    "-sp 1 -spmsec 5",
    "-sp 1 -spmsec 1 -trace-blocks 1",
    "-sp 1 -spsysrecs 1 -spverify 1",
    "-sp 1 -spmsec 1000",
    "-sp 0 -engine none",
];

/// Folders with some hundred files, which nobody changes meanwhile.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/guests");

/// Where the sources are.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/models");

/// What a tool prints of an app that prints nothing to standard error.
fn result(options: &str, tool: &str, app: &[&str]) -> String {
    let options = options.split(' ').chain(["-env", "clean", "-t", tool, "--"]);
    let options: Vec<&str> = options.chain(app.iter().copied()).collect();
    let command: [OsString; 1] = [built_example("models").into()];
    let outcome = suites::run::run(&Job::new(&options).under(command)).expect("cargo built the example");
    let printed = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.status, 0, "{options:?}: {printed}");
    printed
}

#[test]
fn areas_merge_by_name() {
    let app = ["/bin/ls", "-lnR", FOLDER];
    let serial = result("-sp 0", "areas", &app);
    for name in ["instructions", "longest_block", "lowest_stack", "pages", "lengths", "first_block", "system_calls"] {
        assert!(serial.contains(&format!("\"{name}\":")), "{name}: {serial}");
    }
    assert!(serial.contains("\"longest_block\":64"), "{serial}");
    for mode in MODES {
        assert!(result(mode, "areas", &app) == serial, "{mode}");
    }
}

#[test]
fn slices_begin_end_and_are_folded_once_and_in_order() {
    let app = ["/bin/ls", "-lnR", FOLDER];
    let serial = result("-sp 0", "slices", &app);
    assert!(serial.starts_with("several slices: false\n") && serial.lines().count() == 2, "{serial}");
    for mode in ["-sp 1 -spsysrecs 0", "-sp 1 -spsysrecs 3 -spmp 8"] {
        let sliced = result(mode, "slices", &app);
        assert_eq!(sliced, serial.replace("false", "true"), "{mode}");
    }
    // It may be over within a millisecond.
    let sliced = result("-sp 1 -spmsec 1", "slices", &app);
    assert_eq!(sliced.lines().last(), serial.lines().last());
}

/// Of each branch, from the first one of the execution on.
#[test]
fn a_predictor_with_long_histories_is_wrong_at_the_same_branches() {
    let app = ["/bin/ls", "-lnR", FOLDER];
    let serial = result("-sp 0", "longhistory", &app);
    assert!(serial.lines().count() > 100, "{serial}");
    for mode in MODES {
        let sliced = result(mode, "longhistory", &app);
        // All of it is long.
        let differing = sliced.lines().zip(serial.lines()).find(|(one, other)| one != other);
        assert!(
            sliced == serial,
            "{mode}: {differing:?}, {} and {} lines",
            sliced.lines().count(),
            serial.lines().count()
        );
    }
}

#[test]
fn a_heap_is_what_the_program_says() {
    let folder = Scratch::new().unwrap();
    let program = folder.beside("takes");
    let source = PathBuf::from(SOURCES).join("takes.c");
    let built = Command::new("gcc").arg("-O1").arg(source).arg("-o").arg(&program).status();
    assert!(built.expect("the tests need a compiler").success());
    let app = [program.to_str().unwrap(), "200000"];
    let told = Command::new(app[0]).arg(app[1]).output().unwrap().stdout;
    let told = String::from_utf8(told).unwrap();
    assert!(!told.contains("freed wrongly 0") && !told.contains("left 0"), "{told}");
    for mode in ["-sp 0"].into_iter().chain(MODES) {
        assert_eq!(result(mode, "heaps", &app), told, "{mode}");
    }
}
