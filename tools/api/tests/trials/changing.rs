//! What tools change of the app takes effect, and nothing else of it is another. Natively `tests/changing/target.c` prints other numbers.

use std::process::Command;
use std::sync::OnceLock;

use super::{FOLDER, LS, result, run, text};

/// All of them are serial.
const MODES: [&str; 4] = ["-sp 0", "-sp 0 -engine none", "-sp 0 -trace-blocks 1 -link 0", "-sp 0 -cache-bytes 65536"];

/// The program that is changed.
fn target() -> &'static str {
    static BUILT: OnceLock<(tempfile::TempDir, String)> = OnceLock::new();
    let (_, program) = BUILT.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("target").to_str().expect("paths of tests are text").to_owned();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/changing/target.c");
        let args = ["-O1", "-pthread", source, "-o", &program];
        let output = Command::new("gcc").args(args).output().expect("the tests need a compiler");
        assert!(output.status.success(), "{}", text(&output.stderr));
        (folder, program)
    });
    program
}

/// What the target prints, and then the tool, in all modes.
fn changed(tool: &str, part: &str, expected: &str) {
    for mode in MODES {
        let options = mode.split(' ').chain(["-env", "clean", "-t", tool, "--", target(), part]);
        let outcome = run(&options.collect::<Vec<_>>());
        let printed = [text(&outcome.stdout), text(&outcome.stderr)].concat();
        assert_eq!((outcome.status, &printed[..]), (0, expected), "{mode}");
    }
}

#[test]
fn registers_and_instructions_are_what_the_tool_makes_of_them() {
    let outcome = run(&["-t", "changes-state", "--", target(), "state"]);
    let executed = text(&outcome.stderr);
    // Deleted instructions count as executed, skipped routines don't.
    let (executed, _) = executed.split_once(" changes").expect("what was executed");
    let expected = format!(
        "add 42\ntwice 0.5\nleft 11\nnever 1\nequals 0 1\ncounts 100\none 21\nsum 9499539\nsegments 12 34\n{executed} changes 1017\n"
    );
    let printed = [text(&outcome.stdout), text(&outcome.stderr)].concat();
    assert_eq!(printed, expected);
    for mode in &MODES[1..] {
        let options = mode.split(' ').chain(["-t", "changes-state", "--", target(), "state"]);
        let outcome = run(&options.collect::<Vec<_>>());
        assert_eq!([text(&outcome.stdout), text(&outcome.stderr)].concat(), expected, "{mode}");
    }
}

#[test]
fn routines_are_replaced_and_called() {
    let outcome = run(&["-env", "clean", "-t", "replaces", "--", target(), "replaced"]);
    let counts = text(&outcome.stderr);
    assert!(counts.ends_with(" entered 3 replaced 14 allocated 4196\n"), "{counts}");
    let app = "scale 6036\nsum8 204\naverage 1.5\nfactorial 840\njumped 5\nlooked at 6803033\nallocated\n";
    changed("replaces", "replaced", &[app, &counts].concat());
}

#[test]
fn system_calls_are_changed_and_skipped() {
    let app = "is parent 1\nuname elsewhere 1\nsleep 0\nread 0 1\nabwrote 4\n";
    changed("changes-calls", "calls", &[app, "asked true skipped 1 told 4\n"].concat());
}

#[test]
fn signals_are_changed_swallowed_and_added() {
    let app = "USR1 5 USR2 0 ALRM 10\nread 55, SEGV 0\nread 77\nraised 1000 1\n";
    changed("changes-signals", "signals", &[app, "signals and changes 24\n"].concat());
}

/// Changes take effect once each, whatever interrupts the app, and however many threads it has.
#[test]
fn what_is_interrupted_is_changed_once() {
    for (tool, part, expected) in [
        // 60000 numbers; 1 becomes 40, of nine below 1000 and all from there on a million more.
        ("changes-state", "storm", "sum 60808970039 ones 1260000 scaled "),
        ("replaces", "storm", "sum 1799970000 ones 60000 scaled 540450090000 interrupted 1\n"),
        ("replaces", "threads", "scaled 446035500\nscaled 455044500\nscaled 464053500\n"),
    ] {
        for mode in &MODES[..2] {
            let options = mode.split(' ').chain(["-t", tool, "--", target(), part]);
            let outcome = run(&options.collect::<Vec<_>>());
            let printed = text(&outcome.stdout);
            assert!(
                outcome.status == 0 && printed.starts_with(expected),
                "{mode}: {printed} {}",
                text(&outcome.stderr)
            );
        }
    }
}

/// Real programs do the same if what a tool replaces does the same, and meet the faults that are injected.
#[test]
fn programs_live_with_what_is_changed() {
    let gzip = ["/bin/gzip", "-1", "-c", "/bin/ls"];
    for app in [&LS[1..], &gzip, &["/usr/bin/perl", "-e", "print join ',', map { $_ * $_ } 1 .. 999"]] {
        let native = Command::new(app[0]).args(&app[1..]).output().unwrap();
        let outcome = run(&[&["-t", "replaces", "--"], app].concat());
        assert!(outcome.stdout == native.stdout, "{app:?}: {}", text(&outcome.stderr));
    }
    let outcome = run(&["-t", "faults", "--call", "write", "--error", "28", "--", "/bin/ls", FOLDER]);
    let printed = text(&outcome.stderr);
    assert!(outcome.stdout.is_empty() && outcome.status == 2, "{}: {printed}", outcome.status);
    assert!(printed.contains("\ncalls ") || printed.starts_with("calls "), "{printed}");
    let sleep = run(&["-t", "changes-calls", "--", "/bin/sleep", "100000"]);
    assert_eq!((sleep.status, &text(&sleep.stderr)[..]), (0, "asked true skipped 1 told 1\n"));
}

/// What is made what it is, and instructions that do nothing and go, leave a program as it is.
#[test]
fn what_is_left_as_it_is_changes_nothing() {
    let gzip = ["/bin/gzip", "-1", "-c", "/bin/true"];
    for app in [&LS[1..], &gzip] {
        let native = Command::new(app[0]).args(&app[1..]).output().unwrap();
        let executed = result(&[&["-env", "clean", "-t", "executed", "--"], app].concat());
        let executed = executed.lines().find_map(|line| line.strip_prefix("Total Count: ")).expect("a total");
        for options in ["-sp 0", "-sp 0 -engine none", "-sp 0 -trace-ins 3"] {
            let options = options.split(' ').chain(["-env", "clean", "-t", "leaves", "--"]);
            let options: Vec<&str> = options.chain(app.iter().copied()).collect();
            let outcome = run(&options);
            let printed = text(&outcome.stderr);
            assert!(outcome.stdout == native.stdout && outcome.status == 0, "{options:?}: {printed}");
            assert_eq!(printed, format!("executed {executed} changes true\n"));
        }
    }
}

/// A child would return to a tool that isn't there.
#[test]
fn a_routine_that_the_tool_calls_cannot_start_processes() {
    let outcome = run(&["-t", "replaces", "--", target(), "forks"]);
    let printed = text(&outcome.stderr);
    assert!(
        outcome.status == 125 && printed.contains("starts a process in a routine that the tool has called"),
        "{printed}"
    );
}

/// A tool that changes the app is refused where it can't be, before the app starts.
#[test]
fn slices_refuse_tools_that_change_the_app() {
    for (option, why) in [
        (
            "-sp",
            "the tool changes-state changes the app, and slices repeat what the app did without it: run it with -sp 0",
        ),
        ("-check-tool", "leave -check-tool out"),
    ] {
        let outcome = run(&[option, "1", "-t", "changes-state", "--", "/bin/echo", "started"]);
        let printed = text(&outcome.stderr);
        assert!(outcome.status == 125 && printed.contains(why) && outcome.stdout.is_empty(), "{option}: {printed}");
    }
}

/// Who only looks at what routines are given and return works in slices.
#[test]
fn wrapping_is_exact_in_slices() {
    let sizes: String = (0..100).map(|i| format!("{}: 1 {}\n", 10_000 + i, 1 - i % 2)).collect();
    for app in [&[target(), "heap"][..], &LS[1..]] {
        let app = [&["-env", "clean", "-t", "wraps", "--"], app].concat();
        let serial = result(&app);
        assert!(serial.starts_with("unpaired 0 0\n"), "{serial}");
        assert!(app.len() > 7 || serial.contains(&sizes), "{serial}");
        for options in ["-sp 1 -spsysrecs 0", "-sp 1 -spmsec 1 -share 0"] {
            let options: Vec<&str> = options.split(' ').collect();
            assert_eq!(result(&[&options[..], &app[..]].concat()), serial, "{options:?}");
        }
    }
}
