//! What tools are told of system calls and signals is the same in all kinds of run, whichever call a slice ends at.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use suites::run::{Job, Scratch};
use suites::superpin::built_example;

/// Serial, and in slices that end at every call, at every few, and by time.
const MODES: [&str; 10] = [
    "-sp 0",
    "-sp 0 -trace-blocks 1",
    "-sp 0 -engine none",
    "-sp 1 -spsysrecs 0",
    "-sp 1 -spsysrecs 1 -spverify 1",
    "-sp 1 -spsysrecs 7 -share 0",
    "-sp 1 -spmsec 1",
    "-sp 1 -spmsec 5 -spverify 1",
    "-sp 1 -spmsec 1000 -record-in-process 0",
    "-sp 1 -spmsec 1000",
];

/// What the tool prints of an app that ends with this status.
fn result(options: &str, app: &[&str], status: i32) -> String {
    let options = options.split(' ').chain(["-env", "clean", "-t", "told", "--"]);
    let options: Vec<&str> = options.chain(app.iter().copied()).collect();
    let command: [OsString; 1] = [built_example("trials").into()];
    let outcome = suites::run::run(&Job::new(&options).under(command)).expect("cargo built the example");
    let printed = String::from_utf8_lossy(&outcome.stderr).into_owned();
    assert_eq!(outcome.status, status, "{options:?}: {printed}");
    printed
}

fn build(to: &Path) {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kernel/calls.c");
    let output = Command::new("gcc").args(["-O1", source, "-o"]).arg(to).output().expect("the tests need a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The same in all modes.
fn told(app: &[&str], status: i32) -> String {
    let serial = result(MODES[0], app, status);
    for mode in &MODES[1..] {
        let printed = result(mode, app, status);
        let differ = serial.lines().zip(printed.lines()).find(|(one, other)| one != other);
        assert!(
            serial == printed,
            "{mode}: {differ:?} of {} and {} lines",
            serial.lines().count(),
            printed.lines().count()
        );
    }
    serial
}

/// Lines that begin so.
fn count(printed: &str, begin: &str) -> usize {
    printed.lines().filter(|line| line.starts_with(begin)).count()
}

#[test]
fn each_call_and_each_signal_is_told_once() {
    let folder = Scratch::new().unwrap();
    let program = folder.beside("calls");
    build(&program);
    let program = program.to_str().expect("paths of tests are text");
    let printed = told(&[program, "exits"], 7);
    assert!(printed.ends_with("wrong 0, status 7, killed by None\n"), "{printed}");
    let entries = count(&printed, "entry ");
    // All come back but the last, by which the app ends.
    assert_eq!(count(&printed, "exit "), entries - 1, "{printed}");
    assert!(printed.lines().rev().nth(1).is_some_and(|last| last.contains(" exit_group(error_code=7)")), "{printed}");
    assert_eq!(count(&printed, "exit pread64 0x1388 "), 40);
    // SIGUSR1 and SIGUSR2 three times each, SIGUSR1, SIGALRM twice, SIGSEGV, SIGPIPE; all but SIGSEGV's handler return.
    assert_eq!([count(&printed, "handler "), count(&printed, "return ")], [11, 10], "{printed}");
    assert_eq!(count(&printed, "exit rt_sigreturn "), 10);
    let two = |first: &str, second: &str| {
        let lines: Vec<&str> = printed.lines().collect();
        lines.windows(2).filter(|pair| pair[0].starts_with(first) && pair[1].contains(second)).count()
    };
    assert_eq!(two("exit rt_sigsuspend error 4", "of SIGALRM, code 128, sent false"), 1, "{printed}");
    assert_eq!(two("exit ppoll error 4", "of SIGALRM"), 1, "{printed}");
    assert_eq!(two("exit write error 32", "of SIGPIPE"), 1, "{printed}");
    assert_eq!(two("exit tgkill 0x0", "of SIGUSR"), 6, "{printed}");
    assert_eq!(two("exit rt_sigprocmask 0x0", "of SIGUSR1, code -6, sent true"), 1, "{printed}");
    assert!(printed.contains("of SIGSEGV, code 1, sent false, about Some(10), at "), "{printed}");
    assert_eq!(two("entry 0x", "exit execve error 2"), 1, "{printed}");
    assert_eq!(two("entry 0x", "exit execve 0x0"), 1, "{printed}");
}

/// A call that has come back is over also if the app is killed then; one in which it is killed is not. By what it is killed is told last.
#[test]
fn who_is_killed_leaves_no_call_half_told() {
    let folder = Scratch::new().unwrap();
    let program = folder.beside("calls");
    build(&program);
    let program = program.to_str().expect("paths of tests are text");
    for (how, (signal, killed_by), last) in [
        ("pipe", (libc::SIGPIPE, "SIGPIPE, code 0, sent true"), "exit write error 32"),
        ("waits", (libc::SIGALRM, "SIGALRM, code 128, sent false"), "rt_sigsuspend("),
        ("killed", (libc::SIGTERM, "SIGTERM, code 0, sent true"), "kill"),
    ] {
        let printed = told(&[program, how], 128 + signal);
        assert!(printed.ends_with(&format!("status {}, killed by Some({signal})\n", 128 + signal)), "{printed}");
        let [killed, line] = [1, 2].map(|n| printed.lines().rev().nth(n).expect("there are many"));
        assert!(
            line.contains(last) && killed.starts_with(&format!("killed by {killed_by}, ")),
            "{how}: {line}, {killed}"
        );
    }
}

/// Faults that have no handler, are blocked or ignored, and signals that the app sends itself.
#[test]
fn what_kills_is_told_with_where_and_why() {
    for (guest, signal, killed_by) in [
        ("fault_fatal", libc::SIGSEGV, "SIGSEGV, code 1, sent false, about Some(8), at 0x"),
        ("fault_unheard.blocked_division", libc::SIGFPE, "SIGFPE, code 1, sent false, about Some("),
        ("fault_unheard.ignored_trap", libc::SIGTRAP, "SIGTRAP, code 128, sent false, about Some(0), at 0x"),
        ("exit_by_signal.jump-raised", libc::SIGSEGV, "SIGSEGV, code 1, sent false, about Some(0), at 0x0"),
        ("exit_by_signal.hup", libc::SIGHUP, "SIGHUP, code -6, sent true, about None, at 0x"),
        ("uncaught_exception", libc::SIGABRT, "SIGABRT, code -6, sent true, about None, at 0x"),
    ] {
        let program = suites::guest::named(guest).executable();
        let printed = told(&[program.to_str().expect("paths of tests are text"), "10"], 128 + signal);
        assert_eq!(count(&printed, "killed by "), 1, "{guest}: {printed}");
        assert_eq!(count(&printed, &format!("killed by {killed_by}")), 1, "{guest}: {printed}");
    }
}
