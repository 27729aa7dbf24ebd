//! What those who work on superpin ask it for: the log of events, translations written out, a slice that waits.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use suites::deadline::wait_for;
use suites::run::Scratch;
use suites::superpin::{command, parse_total};

use super::{superpin, text};

/// An app that makes a call and a few branches.
const APP: [&str; 3] = ["/bin/sh", "-c", "echo out"];

/// The log of a run, and what it has printed.
fn logged(options: &[&str], what: &str) -> (String, String) {
    let scratch = Scratch::new().unwrap();
    let log = scratch.beside("log");
    let target = format!("{}{what}", log.display());
    let outcome = superpin(&[options, &["-log", &target, "-t", "icount2", "--"], &APP].concat());
    let told = text(&outcome.stderr);
    assert_eq!((outcome.status, text(&outcome.stdout).as_str()), (0, "out\n"), "{told}");
    assert_eq!(told.lines().count(), 2, "only the total, and what repetitions count: {told}");
    (fs::read_to_string(&log).unwrap(), told)
}

/// What the lines of a log are about.
fn kinds(log: &str) -> std::collections::BTreeSet<&str> {
    log.lines().filter(|line| !line.starts_with(' ')).map(|line| line.split(' ').nth(2).unwrap()).collect()
}

#[test]
fn a_log_says_what_happened_in_which_slice_by_time() {
    let (serial, total) = logged(&["-sp", "0"], "");
    let (sliced, same) = logged(&["-sp", "1", "-spsysrecs", "5"], "");
    assert_eq!(parse_total(&total), parse_total(&same));
    assert!(kinds(&serial).is_superset(&["translation", "link"].into()), "{serial}");
    assert!(kinds(&sliced).is_superset(&["boundary", "record", "translation", "link"].into()), "{sliced}");
    let times: Vec<&str> = sliced.lines().filter_map(|line| line.split_once(' ')).map(|(time, _)| time).collect();
    let micros = |time: &&str| time.replace('.', "").parse::<u64>().unwrap_or_else(|_| panic!("{time}"));
    assert!(times.iter().map(micros).is_sorted(), "{sliced}");
    for line in
        ["control boundary slice 0: ends for", "slice:1 boundary begins at", "control boundary slice 1: has finished"]
    {
        assert!(sliced.contains(line), "no {line:?} in {sliced}");
    }
    assert!(sliced.lines().any(|line| line.contains(": write(0x1, ") && line.contains(" = 0x4")), "{sliced}");
}

#[test]
fn a_log_may_be_of_one_kind() {
    let (log, _) = logged(&["-sp", "1", "-spsysrecs", "5"], ":links");
    assert_eq!(kinds(&log), ["link"].into(), "{log}");
}

#[test]
fn a_trace_is_written_out_where_it_is_asked_for() {
    for options in [&["-sp", "0"][..], &["-sp", "1", "-spsysrecs", "5"]] {
        // The program's entry is the first instruction of a function everywhere.
        let outcome = superpin(
            &[options, &["-dump-trace", "main", "-t", "icount2", "--", env!("CARGO_BIN_EXE_oracle"), "/nonexistent"]]
                .concat(),
        );
        let told = text(&outcome.stderr);
        let at = told.find(" trace of 0x").unwrap_or_else(|| panic!("{options:?}: {told}"));
        let who = if options[1] == "0" { " serial trace of" } else { " slice:" };
        let place = format!(" is {}+0x", env!("CARGO_BIN_EXE_oracle"));
        let placed = told.lines().find(|line| line.contains(" the code at 0x"));
        assert!(placed.is_some_and(|line| line.contains(&place)), "{options:?}: {told}");
        assert!(
            told.contains(who) && told[at..].contains("-- at 0x") && told[at..].contains("call of routine"),
            "{told}"
        );
    }
    let wrong = superpin(&["-dump-trace", "no_such_function", "-t", "icount2", "--", "/bin/true"]);
    assert_eq!(wrong.status, 125);
    assert!(text(&wrong.stderr).contains("no_such_function"));
}

/// The state of a process: a letter.
fn state(pid: &str) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.rsplit_once(") ")?.1.chars().take(1).collect())
}

#[test]
fn a_slice_waits_where_it_is_told_and_goes_on() {
    // A shell counts the digits of its parent's process number.
    const APP: [&str; 1] = ["/bin/true"];
    let sliced = superpin(&[&["-sp", "1", "-env", "clean", "-t", "icount2", "--"][..], &APP].concat());
    let words = command();
    let mut run = Command::new(&words[0]);
    run.args(&words[1..]).args(["-sp", "1", "-env", "clean", "-stop-slice", "0", "-t", "icount2", "--"]).args(APP);
    let mut child = run.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    assert!(first.contains("slice 0 waits before the instruction at 0x"), "{first}");
    let go_on = lines.find(|line| line.contains("kill -CONT ")).expect("how to let it go on");
    let pid = go_on.rsplit_once(' ').unwrap().1;
    assert_eq!(state(pid).as_deref(), Some("T"));
    let continued = Command::new("kill").args(["-CONT", pid]).status().unwrap();
    assert!(continued.success());
    let rest: Vec<String> = lines.collect();
    assert!(wait_for(&mut child).unwrap().success());
    assert_eq!(parse_total(&rest.join("\n")), parse_total(&text(&sliced.stderr)));
    let serial = superpin(&[&["-sp", "0", "-stop-slice", "0", "-t", "icount2", "--"][..], &APP].concat());
    assert!(serial.status == 125 && text(&serial.stderr).contains("-sp 1"));
}
