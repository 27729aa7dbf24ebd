//! What tools are told of threads.

use suites::guest;
use suites::run::Job;
use suites::superpin::built_example;

use super::{LS, result, text};

/// What a tool prints of a guest whose threads are started in one order.
fn of_threads(options: &str, tool: &str) -> String {
    let guest = guest::named("threads_paths");
    let guest = guest.executable().to_str().expect("the path is text");
    let args = options.split_whitespace().chain(["-t", tool, "--", guest, "300"]);
    let command: [std::ffi::OsString; 1] = [built_example("trials").into()];
    let outcome = suites::run::run(&Job::new(args).under(command)).expect("cargo built the example");
    assert_eq!(outcome.status, 0, "{options}: {}", text(&outcome.stderr));
    text(&outcome.stderr)
}

#[test]
fn each_is_told_of_by_number_and_by_path() {
    let told = of_threads("", "told-of-threads");
    let begins = |line: &str, number: &str, parent: &str, code: u64| {
        let line = told.lines().find_map(|told| told.strip_prefix(&format!("{line}: ")));
        let expected = format!("begins, {number} of {parent}, in some state; ends with {code}, in some state");
        assert_eq!(line, Some(&expected[..]), "{told}");
    };
    // The guest's threads end with their places in its tables.
    begins("0", "0", "nobody", 0);
    for (branch, first) in [(1, 1), (2, 4), (3, 7)] {
        let place = 3 * (branch - 1);
        begins(&format!("0.{branch}"), &first.to_string(), "0", place);
        begins(&format!("0.{branch}.1"), &(first + 1).to_string(), &first.to_string(), place + 1);
        begins(&format!("0.{branch}.2"), &(first + 2).to_string(), &first.to_string(), place + 2);
    }
    for way in ["in place", "called", "list", "test", "word", "system call"] {
        assert!(told.contains(&format!("{way}: 0 wrong of many\n")), "{told}");
    }
    assert_eq!(told.lines().filter(|line| line.contains(" executes ")).count(), 10, "{told}");
    for options in ["-engine no-inline,no-anywhere", "-engine none", "-trace-ins 3", "-check-tool 1"] {
        assert_eq!(of_threads(options, "told-of-threads"), told, "{options}");
    }
}

#[test]
fn the_only_thread_begins_and_ends_once() {
    let app = [&["-t", "told-of-threads"], &LS[..]].concat();
    let serial = result(&app);
    assert!(serial.contains("\n0: begins, 0 of nobody, in some state; ends with 0, in some state\n"), "{serial}");
    assert!(serial.contains("in place: 0 wrong of many\n") && serial.contains("system call: 0 wrong of many\n"));
    for options in ["-sp 1 -spsysrecs 10", "-sp 1 -spmsec 5 -spverify 1 -check-tool 1"] {
        let options: Vec<&str> = options.split(' ').collect();
        assert_eq!(result(&[&options[..], &app[..]].concat()), serial, "{options:?}");
    }
    // One program that becomes another: each has a thread that begins, and the first one's never ends.
    let app = ["-t", "told-of-threads", "--", "/usr/bin/env", "/bin/true"];
    let serial = result(&app);
    let begins = "begins, 0 of nobody, in some state";
    assert!(serial.contains(&format!("\n0: {begins}; {begins}; ends with 0, in some state\n")), "{serial}");
    assert_eq!(result(&[&["-sp", "1", "-spsysrecs", "1"], &app[..]].concat()), serial);
}

#[test]
fn each_has_a_call_stack() {
    let told = of_threads("", "calls-by-thread");
    assert_eq!(told.lines().count(), 10, "{told}");
    assert!(told.lines().all(|line| !line.contains(": 0 return")), "{told}");
    assert_eq!(of_threads("-check-tool 1", "calls-by-thread"), told);
    let app = [&["-t", "calls-by-thread"], &LS[..]].concat();
    let serial = result(&app);
    assert_eq!(serial.lines().count(), 1, "{serial}");
    assert_eq!(result(&[&["-sp", "1", "-spsysrecs", "10"], &app[..]].concat()), serial);
}
