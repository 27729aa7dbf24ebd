//! Several tools that look at one run.

use std::fs;

use serde_json::Value;
use suites::guest;
use suites::run::{Job, Scratch, run};
use suites::superpin::command;

use super::{fails, superpin, text};

const WAYS: [&[&str]; 3] =
    [&["-sp", "0"], &["-sp", "1", "-spmsec", "5"], &["-sp", "1", "-spsysrecs", "3", "-spverify", "1"]];

/// A stream, words of two kinds in the buffer, counted blocks, a first pass, calls out of the cache, and one tool twice.
const TOOLS: [&[&str]; 8] = [
    &["memtrace"],
    &["dcache", "--size", "1024"],
    &["mix"],
    &["dcache", "--size", "65536"],
    &["bbv", "--interval", "10000"],
    &["bpred"],
    &["heap"],
    &["icount1"],
];

/// What tools print in a run of a guest.
fn printed(way: &[&str], tools: &[&[&str]], name: &str) -> Vec<String> {
    let guest = guest::named(name);
    printed_in(way, tools, &guest.job(guest.large.div_ceil(20)))
}

/// The same of any program, each to a file.
fn printed_in(way: &[&str], tools: &[&[&str]], job: &Job) -> Vec<String> {
    let scratch = Scratch::new().unwrap();
    let files: Vec<String> =
        (0..tools.len()).map(|n| scratch.beside(&n.to_string()).to_str().unwrap().into()).collect();
    let mut words = command();
    words.extend(way.iter().map(Into::into));
    for (tool, file) in tools.iter().zip(&files) {
        words.push("-t".into());
        words.extend(tool.iter().chain(&["-o", file.as_str()]).map(Into::into));
    }
    words.push("--".into());
    let outcome = run(&job.clone().under(words)).unwrap();
    assert_eq!((outcome.status, text(&outcome.stderr).as_str()), (0, ""), "{way:?} {tools:?}");
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

#[test]
fn each_prints_what_it_prints_alone() {
    for name in ["string_instructions", "indirect_calls", "signal_raise"] {
        let alone: Vec<String> = TOOLS.iter().flat_map(|tool| printed(WAYS[0], &[tool], name)).collect();
        for way in WAYS {
            assert_eq!(printed(way, &TOOLS, name), alone, "{name} {way:?}");
        }
    }
}

#[test]
fn on_standard_error_each_has_its_name() {
    for way in WAYS {
        let told = text(&superpin(&[way, &["-t", "icount2", "-t", "icount1", "--", "/bin/true"]].concat()).stderr);
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!((lines.len(), lines[0], lines[3]), (6, "superpin: icount2", "superpin: icount1"), "{told}");
        assert_eq!(lines[1], lines[4], "{told}");
        let told = text(
            &superpin(&[way, &["-t", "icount2", "--json", "-t", "opcodes", "--json", "--", "/bin/true"]].concat())
                .stderr,
        );
        let lines: Vec<&str> = told.lines().filter(|line| line.starts_with('{')).collect();
        let objects: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!((&objects[0]["tool"], &objects[1]["tool"]), (&"icount2".into(), &"opcodes".into()), "{told}");
        assert_eq!(objects[0]["values"]["instructions"], objects[1]["values"]["instructions"]);
    }
}

#[test]
fn processes_that_are_followed_have_a_result_of_each() {
    for way in WAYS {
        let shell = ["-follow", "1", "-t", "icount2", "-t", "opcodes", "--", "/bin/sh", "-c", "/bin/true; :"];
        let told = text(&superpin(&[way, &shell].concat()).stderr);
        for of in ["superpin: icount2, ", "superpin: opcodes, "] {
            assert_eq!(told.lines().filter(|line| line.starts_with(of)).count(), 2, "{told}");
        }
    }
}

#[test]
fn what_does_not_go_together_is_told_before_the_app_starts() {
    let app = ["--", "/bin/sh", "-c", "echo started >&2"];
    for (tools, words) in [
        (
            &["-t", "mix", "--repeat", "once", "-t", "cache", "--repeat", "each"][..],
            &["tool cache sees each repetition", "tool mix", "--repeat"][..],
        ),
        (&["-t", "heap", "-t", "heap"], &["heap and heap", "one by one"]),
        (&["-t", "itrace", "-o", "/dev/null", "-t", "calltrace", "-o", "/dev/null"], &["itrace and calltrace"]),
        (&["-t", "icount2", "-o", "/tmp/same", "-t", "icount1", "-o", "/tmp/same"], &["/tmp/same", "a file for each"]),
        (&["-check-tool", "1", "-t", "icount2", "-t", "icount1"], &["-check-tool", "one tool"]),
        (&["-t", "icount2", "-t", "icount3"], &["no tool is named `icount3`"]),
        (&["-t", "icount2", "-t", "./none"], &["./none"]),
    ] {
        fails(&[tools, &app].concat(), &[125], words);
        assert!(!text(&superpin(&[tools, &app].concat()).stderr).contains("started\n"));
    }
}

#[test]
fn who_leaves_it_open_counts_repetitions_as_the_others_do() {
    for (tools, word) in
        [(&["-t", "mix", "-t", "cache"][..], "each"), (&["-t", "mix", "--repeat", "once", "-t", "cache"], "once")]
    {
        let told = text(&superpin(&[tools, &["--json", "--", "/bin/true"]].concat()).stderr);
        let notice = told.lines().next().unwrap();
        assert!(notice.starts_with("superpin: ") && notice.contains("--repeat"), "{told}");
        assert!(told.contains(&format!("\"repetitions\":\"{word}\"")), "{told}");
    }
    let told = text(&superpin(&["-t", "mix", "-t", "bpred", "--", "/bin/true"]).stderr);
    assert!(!told.contains("--repeat"), "{told}");
}

/// What a region's warm-up has counted is taken off what all threads have, once, also where another tool sees each thread by itself.
#[test]
fn a_part_of_the_run_of_threads_is_the_same_for_all() {
    for way in WAYS {
        let region = [way, &["-skip", "1500000", "-warm-up", "1000000"]].concat();
        let tools: [&[&str]; 3] = [&["icount2", "--json"], &["mix", "--json"], &["stacks", "--json"]];
        let told = printed_in(&region, &tools, &guest::named("threads_paths").job(300));
        let values: Vec<Value> = told.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        let counted: Vec<Option<u64>> = values.iter().map(|value| value["values"]["instructions"].as_u64()).collect();
        assert!(counted[0].is_some_and(|count| count > 100_000) && counted == [counted[0]; 3], "{way:?}: {counted:?}");
    }
}
