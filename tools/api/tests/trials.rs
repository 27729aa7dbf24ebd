//! Runs the tool image of `examples/trials` on ordinary programs. An image is a complete superpin, so this needs
//! no other program.

#[path = "trials/changing.rs"]
mod changing;
#[path = "trials/slow.rs"]
mod slow;
#[path = "trials/state.rs"]
mod state;
#[path = "trials/threads.rs"]
mod threads;

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use suites::run::{Job, Outcome};
use suites::superpin::built_example;

/// Folders with some hundred files, which nobody changes meanwhile.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/guests/plain");

/// What superpin runs: without names of users, for which it would read files of the system.
const LS: [&str; 4] = ["--", "/bin/ls", "-lnR", FOLDER];

fn run(args: &[&str]) -> Outcome {
    let command: [OsString; 1] = [built_example("trials").into()];
    suites::run::run(&Job::new(args).under(command)).expect("cargo built the example")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What a tool printed about a program that ends well.
fn result(args: &[&str]) -> String {
    let outcome = run(args);
    assert_eq!(outcome.status, 0, "{args:?}: {}", text(&outcome.stderr));
    text(&outcome.stderr)
}

#[test]
fn arguments_are_what_they_say() {
    let app = [&["-t", "arguments"], &LS[..]].concat();
    let printed = result(&app);
    assert_eq!(result(&[&["-sp", "1", "-spsysrecs", "10"], &app[..]].concat()), printed);
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 4, "{printed}");
    for line in lines {
        let (_, counts) = line.split_once(": ").expect("a name and two numbers");
        let (differences, checks) = counts.split_once(" of ").expect("two numbers");
        assert_eq!(differences, "0", "{line}");
        assert!(checks.parse::<u64>().expect("a number") > 1000, "{line}");
    }
}

#[test]
fn what_was_executed_before_is_known_in_each_slice() {
    // One program that becomes another.
    let app = ["-t", "intervals", "--", "/usr/bin/env", "/bin/ls", "-lnR", FOLDER];
    let serial = result(&app);
    assert!(serial.lines().count() > 500, "{serial}");
    for options in ["-sp 1 -spsysrecs 0", "-sp 1 -spmsec 5 -share 0", "-sp 0 -trace-ins 3"] {
        let options: Vec<&str> = options.split(' ').collect();
        assert!(result(&[&options[..], &app[..]].concat()) == serial, "{options:?}");
    }
    // A region leaves the numbers as they are: none of these 999 is a multiple of 1000.
    let part = result(&[&["-sp", "1", "-spsysrecs", "5", "-skip", "1", "-trace", "999"], &app[..]].concat());
    assert_eq!(part, "");
}

#[test]
fn calls_behind_tell_where_the_app_goes() {
    let app = [&["-t", "behind"], &LS[..]].concat();
    let serial = result(&app);
    let numbers: Vec<u64> = serial.lines().map(|line| line.split_once(": ").unwrap().1.parse().unwrap()).collect();
    assert!(numbers[0] > 1000 && numbers[1] > 1000 && numbers[2] == 0, "{serial}");
    for options in ["-sp 1 -spsysrecs 10", "-sp 1 -spmsec 5 -trace-blocks 1", "-sp 0 -engine none"] {
        let options: Vec<&str> = options.split(' ').collect();
        assert_eq!(result(&[&options[..], &app[..]].concat()), serial, "{options:?}");
    }
}

/// The same blocks, as often, wherever slices end and traces are cut: at calls and, of the second program, by time, in the middle of its loops.
#[test]
fn blocks_are_those_of_the_app() {
    let gzip = ["--", "/bin/gzip", "-1", "-c", "/bin/ls"];
    for app in [&["--", "/bin/ls", "-ln", FOLDER][..], &gzip[..]] {
        let app = [&["-env", "clean", "-t", "blocks"], app].concat();
        let counts = |options: &str| -> String {
            let options: Vec<&str> = options.split(' ').collect();
            result(&[&options[..], &app[..]].concat())
        };
        let serial = counts("-sp 0");
        assert!(serial.lines().count() > 1000, "{serial}");
        for options in [
            "-sp 1 -spmsec 1",
            "-sp 1 -spmsec 3 -trace-blocks 1",
            "-sp 1 -spsysrecs 10 -share 0",
            "-sp 1 -spmsec 2 -engine no-merge",
            "-sp 0 -trace-blocks 1",
            "-sp 0 -trace-ins 3",
        ] {
            let other = counts(options);
            let differ = serial.lines().zip(other.lines()).find(|(one, other)| one != other);
            assert!(serial == other, "{options}: {differ:?}");
        }
    }
}

/// What slices write comes in their order, wherever they end; compressed, it is the same when it is unpacked.
#[test]
fn what_is_written_is_in_order() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("calls");
    let written = |options: &str, pack: &[&str]| -> Vec<u8> {
        let options: Vec<&str> = options.split(' ').collect();
        let tool = ["-env", "clean", "-t", "written", "-o", path.to_str().unwrap()];
        assert_eq!(result(&[&options[..], &tool[..], pack, &LS[..]].concat()), "");
        std::fs::read(&path).unwrap()
    };
    let serial = written("-sp 0", &[]);
    let lines: Vec<&str> = std::str::from_utf8(&serial).unwrap().lines().collect();
    assert!(lines.len() > 5000 && lines.last() == Some(&"the end"), "{} lines", lines.len());
    assert!(lines[..lines.len() - 1].iter().all(|line| line.contains(" calls 0x")));
    for options in ["-sp 1 -spsysrecs 3", "-sp 1 -spmsec 1 -trace-blocks 1", "-sp 1 -spmsec 2 -share 0 -spverify 1"] {
        assert!(written(options, &[]) == serial, "{options}");
    }
    for options in ["-sp 0", "-sp 1 -spsysrecs 3"] {
        let packed = written(options, &["-z"]);
        assert!(packed.len() < serial.len() / 2, "{} of {}", packed.len(), serial.len());
        assert!(unpacked(&packed) == serial, "{options}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    for (tool, why) in [(&["-t", "written"][..], "-o FILE"), (&["-t", "behind", "-z"], "nothing to compress")] {
        let outcome = run(&[tool, &LS[..]].concat());
        assert!(outcome.status == 125 && text(&outcome.stderr).contains(why), "{}", text(&outcome.stderr));
    }
}

/// Each process that is followed writes a file of its own.
#[test]
fn each_process_writes_its_own() {
    let written = |options: &str| -> Vec<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("calls");
        let options: Vec<&str> = options.split(' ').collect();
        let tool = ["-env", "clean", "-follow", "1", "-t", "written", "-o", path.to_str().unwrap()];
        result(&[&options[..], &tool[..], &["--", "/bin/sh", "-c", "/bin/ls -d / | /bin/cat"]].concat());
        let all: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path()).collect();
        let others = all.iter().filter(|&file| *file != path);
        // The shell itself sees its children end in one order or another.
        assert!(all.len() == 3 && std::fs::read(&path).unwrap().ends_with(b"the end\n"), "{all:?}");
        let mut others: Vec<Vec<u8>> = others.map(|file| std::fs::read(file).unwrap()).collect();
        others.sort();
        others
    };
    let serial = written("-sp 0");
    assert!(serial.iter().all(|calls| calls.len() > 10_000 && calls.ends_with(b"\nthe end\n")));
    for options in ["-sp 1 -spsysrecs 3", "-sp 1 -spmsec 1"] {
        assert!(written(options) == serial, "{options}");
    }
    let mixed = run(&["-follow", "1", "-t", "written", "-o", "/dev/stderr", "--", "/bin/true"]);
    assert!(mixed.status == 125 && text(&mixed.stderr).contains("has to name a file"), "{}", text(&mixed.stderr));
}

/// All frames of a file of zstd's.
fn unpacked(mut packed: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while !packed.is_empty() {
        let mut decoder = ruzstd::decoding::StreamingDecoder::new(&mut packed).unwrap();
        std::io::Read::read_to_end(&mut decoder, &mut all).unwrap();
    }
    all
}

/// Each instruction was executed as often as calls say, and as often in all modes.
#[test]
fn executions_are_the_same_however_they_are_counted() {
    let gzip = ["--", "/bin/gzip", "-1", "-c", "/bin/ls"];
    for app in [&["--", "/bin/ls", "-ln", FOLDER][..], &gzip[..]] {
        let app = [&["-env", "clean", "-t", "executed"], app].concat();
        let counts = |options: &str| -> String {
            let options: Vec<&str> = options.split(' ').collect();
            result(&[&options[..], &app[..]].concat())
        };
        let serial = counts("-sp 0");
        assert!(serial.lines().count() > 5000 && serial.contains("\nas called: true\n"), "{serial}");
        let folder = tempfile::tempdir().unwrap();
        let persist = format!("-sp 1 -spmsec 2 -persist {}", folder.path().display());
        for options in [
            "-sp 1 -spmsec 1",
            "-sp 1 -spmsec 3 -trace-blocks 1",
            "-sp 1 -spsysrecs 10 -share 0 -cache-bytes 65536",
            "-sp 1 -spmsec 2 -engine none",
            "-sp 0 -trace-ins 3 -cache-bytes 65536",
            &persist,
            &persist,
        ] {
            let other = counts(options);
            let differ = serial.lines().zip(other.lines()).find(|(one, other)| one != other);
            assert!(serial == other, "{options}: {differ:?}");
        }
    }
}

/// No register is left to write them with that nobody wants. Some hold what is different in each run.
#[test]
fn all_registers_come_by_buffer_and_by_calls() {
    let app = ["-t", "registers", "--", "/bin/echo", "hi"];
    let words = |options: &str| -> u64 {
        let options: Vec<&str> = options.split(' ').collect();
        let printed = result(&[&options[..], &app[..]].concat());
        let numbers: Vec<&str> = printed.split_whitespace().skip(1).collect();
        assert!(numbers.len() == 3 && numbers[1] == numbers[2], "{options:?}: {printed}");
        numbers[0].parse().expect("a number")
    };
    let serial = words("-sp 0");
    assert!(serial > 16_000 && serial.is_multiple_of(16), "{serial}");
    for options in ["-sp 1 -spsysrecs 10", "-sp 1 -spmsec 5 -engine no-keep", "-sp 0 -engine none"] {
        assert_eq!(words(options), serial, "{options}");
    }
}

/// Flags tell what branches do, and twelve arguments, lists, states and the buffer tell the same, serially and in slices.
#[test]
fn flags_vectors_and_states_come_by_all_ways() {
    let gzip = ["--", "/bin/gzip", "-1", "-c", "/bin/true"];
    for app in [&["--", "/bin/ls", "-ln", FOLDER][..], &gzip[..]] {
        let app = [&["-env", "clean", "-t", "whole"], app].concat();
        let numbers = |options: &str| -> Vec<u64> {
            let options: Vec<&str> = options.split(' ').collect();
            let printed = result(&[&options[..], &app[..]].concat());
            let (_, list) = printed.split_once('[').expect("a list");
            list.trim_end().trim_end_matches(']').split(", ").map(|n| n.parse().expect("a number")).collect()
        };
        let serial = numbers("-sp 0");
        let [branches, foretold, taken, words, differ, by_state, by_operands, steps, first] = serial[..] else {
            panic!("{serial:?}")
        };
        assert!(branches > 10_000 && taken > 1000 && words > 10_000 && by_state > 1000, "{serial:?}");
        assert_eq!((foretold, differ, by_state), (taken, 0, by_operands), "{serial:?}");
        assert!(first > 0 && steps > 2 * first, "{serial:?}");
        for options in [
            "-sp 1 -spsysrecs 10",
            "-sp 1 -spmsec 5 -engine no-keep",
            "-sp 0 -engine none",
            "-sp 1 -spmsec 5 -engine no-call",
        ] {
            assert_eq!(numbers(options), serial, "{options}");
        }
    }
}

#[test]
fn slices_are_folded_in_the_order_of_execution() {
    let app = [&["-t", "ordered"], &LS[..]].concat();
    let serial = result(&app);
    assert!(serial.contains(" calls, hash "), "{serial}");
    for options in [
        "-sp 1 -spsysrecs 20",
        "-sp 1 -spmsec 5 -spmp 1",
        "-sp 1 -spsysrecs 50 -share 0",
        "-sp 1 -spmsec 10 -link 0 -cache-bytes 65536",
        "-sp 0 -trace-blocks 1",
    ] {
        let options: Vec<&str> = options.split(' ').collect();
        let sliced = result(&[&options[..], &app[..]].concat());
        assert_eq!(sliced, serial, "{options:?}");
    }
}

#[test]
fn a_failing_tool_prints_no_result() {
    for (tool, expected) in [
        ("panic-in-routine", "the routine gave up"),
        ("panic-in-instrument", "instrumentation gave up at 0x"),
        ("refuses", "works on Sundays only"),
        ("wrong-operand", "failing.rs"),
        ("panic-in-routine", "the tool's routine trials::wrong::failing::fail_late failed: panicked at "),
        ("prints", "the tool's routine trials::wrong::failing::prints made system call 1 (write)"),
        ("opens", "the tool's routine trials::wrong::failing::opens made system call 257 (openat)"),
        ("starts-a-thread", "the tool's routine trials::wrong::failing::starts_a_thread started a thread, which"),
        ("crashes", "the tool's routine trials::wrong::failing::crashes failed: panicked at "),
        ("crashes", "), address 0x8"),
        ("panic-in-instrument", "the tool panic-in-instrument failed in its function instrument: panicked at "),
        ("panic-in-first-pass", "the tool panic-in-first-pass failed in what its FIRST_PASS counts: panicked at "),
        ("wrong-operand", "the tool wrong-operand failed where it inserts the tool's routine trials::wrong::"),
        ("uses-unkept", "the tool uses-unkept failed where it inserts the tool's routine "),
        ("asks-for-flags", "the tool asks-for-flags failed where it inserts the tool's routine "),
        ("wrong-operand", "there is no Arg::MemoryAddress(7) at `"),
        ("wrong-argument", "Arg::Argument(0) belongs to calls At::Before a routine's first instruction"),
        ("wrong-return-value", "Arg::ReturnValue belongs to calls At::Before a return instruction"),
        ("wrong-operand-of-block", "there is no Arg::MemoryAddress(7) at `"),
        ("uses-unkept", "is used At::Before `"),
        ("keeps-too-long", "that is another block's: its value ends with its block"),
        ("leaves-a-slice", "which only one may do that samples"),
        ("reads-in-drain", "the app's memory is read outside an analysis routine"),
        ("asks-for-flags", "the tool must say so, `const READS_FLAGS: bool = true` in its `impl Tool`"),
    ] {
        for mode in ["0", "1"] {
            let output = run(&[&["-sp", mode, "-t", tool], &LS[..]].concat());
            let printed = text(&output.stderr);
            assert_eq!(output.status, 125, "{tool} -sp {mode}: {printed}");
            assert!(mode == "1" || !printed.contains("slice 0"), "{printed}");
            assert!(printed.contains(expected) && !printed.contains("a total"), "{tool} -sp {mode}: {printed}");
        }
    }
}

/// What makes a tool slow is named.
#[test]
fn the_report_says_how_routines_are_called() {
    let total = |printed: &str| {
        let total = printed.lines().find_map(|line| line.strip_prefix("a total: "));
        total.expect("a total").to_owned()
    };
    for mode in ["0", "1"] {
        for (engine, way, why) in [
            ("no-aside", "leaves_the_cache", ": `-engine` says so"),
            ("no-partly", "is_called_aside", ": it has `"),
            ("no-aside,aside", "is_called_partly_aside", ": all is put aside where it has `"),
        ] {
            let options = ["-engine", engine, "-sp", mode, "-report", "-", "-t", "rarely-prints", "--", "/bin/ls", "/"];
            let printed = text(&run(&options).stderr);
            let first = format!("routine_1_{way}: trials::wrong::failing::rarely_prints, ");
            let line = printed.lines().find_map(|line| line.strip_prefix(&first[..]));
            let line = line.unwrap_or_else(|| panic!("{printed}"));
            let (calls, rest) = line.split_once(" calls, ").expect("calls");
            assert_eq!(calls, total(&printed), "{printed}");
            assert!(rest.contains(" % of the time: "), "{line}");
            assert!(rest.contains(why), "{line}");
            assert!(!printed.contains("routine_2"), "{printed}");
        }
        // A test in place, and what is called.
        let printed = text(&run(&["-sp", mode, "-report", "-", "-t", "tested", "--", "/bin/true"]).stderr);
        assert!(printed.contains("_is_in_place: trials::state::tested::collect, at "), "{printed}");
        assert!(printed.contains("_is_called: trials::state::tested::compare, at "), "{printed}");
        assert!(printed.contains("% of the time: a test is put in place or "), "{printed}");
        // What takes words of the buffer.
        let printed = text(&run(&["-sp", mode, "-report", "-", "-t", "recording", "--", "/bin/true"]).stderr);
        let takes =
            printed.lines().find(|line| line.contains("_takes_words: trials::state::recording::Recording::drain, "));
        assert!(takes.is_some_and(|line| line.ends_with(" % of the time")), "{printed}");
    }
}

#[test]
fn the_image_explains_its_tools() {
    let list = text(&run(&["-t", "help"]).stdout);
    assert!(list.contains("ordered") && list.contains("List calls in the order of execution"), "{list}");
    let help = text(&run(&["-t", "ordered", "--help"]).stdout);
    assert!(help.contains("--lines") && help.contains("--output"), "{help}");
}

/// A routine that doesn't return keeps signals from the app. Who asks for the end twice gets it.
#[test]
fn a_routine_that_loops_can_be_ended() {
    const NEVER: Duration = Duration::from_secs(300);
    // One that is ignored where tests run in the background wouldn't do.
    for signal in [15] {
        let mut command = Command::new(built_example("trials"));
        command.args(["-sp", "0", "-t", "loop-in-routine", "--", "/bin/sleep", "0"]).stderr(Stdio::piped());
        let mut superpin = command.spawn().expect("cargo built the example");
        let give_up = Instant::now() + NEVER;
        while !has_busy_child(superpin.id()) {
            assert!(Instant::now() < give_up, "the tool doesn't begin");
            std::thread::sleep(Duration::from_millis(20));
        }
        let pid = superpin.id();
        let send = |number: i32| {
            let status = Command::new("/bin/sh").args(["-c", &format!("kill -{number} {pid}")]).status();
            assert!(status.is_ok_and(|status| status.success()));
        };
        send(signal);
        let mut told = BufReader::new(superpin.stderr.take().expect("it is a pipe"));
        let mut line = String::new();
        told.read_line(&mut line).expect("a line");
        assert!(line.contains("hasn't come back"), "{line}");
        send(signal);
        let status = superpin.wait().expect("it ends");
        line.clear();
        told.read_line(&mut line).expect("a line");
        assert!(line.contains("was sent again") && line.contains("no total"), "{line}");
        assert_eq!(status.code(), Some(128 + signal));
    }
}

/// Whether a process has a child that has computed for a third of a second.
fn has_busy_child(parent: u32) -> bool {
    let pids = std::fs::read_dir("/proc").into_iter().flatten();
    let stats = pids.filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok());
    let is_busy = |stat: String| {
        let fields: Vec<&str> = stat.rsplit_once(") ")?.1.split_whitespace().collect();
        let ticks: u64 = fields[11].parse().ok()?;
        Some(fields[1] == parent.to_string() && ticks > 30)
    };
    stats.filter_map(is_busy).any(|is_busy| is_busy)
}
