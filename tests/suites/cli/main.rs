//! The command line as a user meets it: help, totals, exit statuses, errors.

mod messages;
mod results;
mod watching;

use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use bubble::switches::Optimisation;
use suites::deadline::{output, stretched, wait_for};
use suites::guest;
use suites::run::{Job, Outcome, Scratch, run};
use suites::superpin::{binary, command, count_with, parse_total};
use suites::switches;

fn superpin(arguments: &[&str]) -> Outcome {
    run(&arguments.iter().fold(Job::new(command()), Job::with)).unwrap()
}

/// How a shell script starts superpin, whose path is the script's name.
fn in_script() -> String {
    format!("exec \"$0\" {}", switches::options().join(" "))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs and expects a failure of superpin's own whose message contains all of `words`, and no total.
fn fails(arguments: &[&str], statuses: &[i32], words: &[&str]) {
    let outcome = superpin(arguments);
    let told = text(&outcome.stderr);
    assert!(statuses.contains(&outcome.status), "{arguments:?} ended with status {}: {told}", outcome.status);
    for word in words {
        assert!(told.to_lowercase().contains(&word.to_lowercase()), "{arguments:?}: no {word:?} in: {told}");
    }
    assert_eq!(parse_total(&told), None);
}

#[test]
fn help_teaches_every_option() {
    let outcome = superpin(&["--help"]);
    let help = text(&outcome.stdout);
    assert_eq!(outcome.status, 0);
    for option in ["-sp ", "-spmsec", "-spmp", "-spsysrecs", "-t ", "-aslr", "-report"] {
        assert!(help.contains(option), "{option} isn't in {help}");
    }
}

#[test]
fn tools_are_listed() {
    let outcome = superpin(&["-t", "help"]);
    let list = text(&outcome.stdout);
    assert_eq!(outcome.status, 0);
    assert!(list.contains("icount1") && list.contains("icount2") && list.contains("none"), "{list}");
}

#[test]
fn a_run_with_no_tool_is_the_apps_alone() {
    for mode in [&["-sp", "0"][..], &["-sp", "1", "-spsysrecs", "2"]] {
        let app = ["-t", "none", "--", "/bin/sh", "-c", "echo out; echo err >&2; exit 9"];
        let outcome = superpin(&[mode, &app].concat());
        let left = (outcome.status, text(&outcome.stdout), text(&outcome.stderr));
        assert_eq!(left, (9, "out\n".to_owned(), "err\n".to_owned()), "{mode:?}");
    }
}

#[test]
fn the_total_follows_the_apps_own_errors() {
    for sliced in ["0", "1"] {
        let outcome =
            superpin(&["-sp", sliced, "-t", "icount2", "--", "/bin/sh", "-c", "echo out; echo err >&2; exit 9"]);
        let told = text(&outcome.stderr);
        assert_eq!((outcome.status, text(&outcome.stdout).as_str()), (9, "out\n"));
        assert!(told.starts_with("err\nTotal Count: ") && told.ends_with('\n') && told.lines().count() == 2, "{told}");
    }
}

/// Some 8000 calls, nearly all of them recorded inside the app.
#[test]
fn calls_recorded_inside_the_app_end_slices_only_where_a_limit_is_given() {
    let job = guest::named("small_calls").job(600);
    let records_full = |options: &[&str]| {
        let counted = count_with("icount2", options, &job).unwrap();
        assert!(counted.statistic("records_in_process").unwrap() > 7000.0, "{}", counted.report);
        (counted.total.unwrap(), counted.statistic("boundaries_records").unwrap())
    };
    let (total, at_default) = records_full(&["-sp", "1"]);
    let (same, at_a_thousand) = records_full(&["-sp", "1", "-spsysrecs", "1000"]);
    assert_eq!((same, at_default), (total, 0.0));
    assert!(at_a_thousand >= 6.0, "{at_a_thousand}");
}

/// Some 40000 calls that put descriptors in others' places, and a few that can only be made with a stop.
#[test]
fn descriptors_are_replaced_inside_the_app() {
    let counted = count_with("icount2", &["-sp", "1"], &guest::named("descriptors_replaced").job(200)).unwrap();
    let [inside, all] = ["records_in_process", "records"].map(|name| counted.statistic(name).unwrap());
    assert!(inside > 0.9 * all && all > 40000.0, "{}", counted.report);
}

/// More than 100 signals that the app sends itself: each comes at the end of a call, where it is recorded.
#[test]
fn signals_at_the_ends_of_calls_end_no_slices() {
    let counted = count_with("icount2", &["-sp", "1"], &guest::named("signal_raise").job(25)).unwrap();
    assert!(counted.statistic("boundaries_signal").unwrap() < 10.0, "{}", counted.report);
}

/// Some 150 signals, for each of which the app waits with a mask of its own: none is held back while it does, which would have the call broken off again and again.
#[test]
fn a_call_that_waits_for_a_signal_is_broken_off_once() {
    let counted = count_with("icount2", &["-sp", "1"], &guest::named("signal_awaited").job(50)).unwrap();
    let [stops, records] = ["master_stops", "records"].map(|name| counted.statistic(name).unwrap());
    // A signal has one, as each border of a call has: of the timer's setting, of what waits, which has no record, and of the handler's return.
    assert!(stops < 5.0 * records && records > 300.0, "{}", counted.report);
}

/// What a debugger asks for is recorded: of some 400 calls only those end a slice that make a process.
#[test]
fn debugging_does_not_end_slices() {
    let counted =
        count_with("icount2", &["-sp", "1", "-spmsec", "10000"], &guest::named("debugs_child").job(3)).unwrap();
    let [ends, all] = ["slices", "records"].map(|name| counted.statistic(name).unwrap());
    assert!(ends < 10.0 && all > 300.0, "{}", counted.report);
}

/// Whether the kernel tells which pages a process has stored to: Linux 6.7, if nobody forbids it.
fn tells_stores() -> bool {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|n| n.parse::<u32>().unwrap_or(0));
    let version = (numbers.next(), numbers.next());
    // SAFETY: a plain call; the result, if it is one, is a new descriptor that nobody else owns.
    let fd = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | 1) } as i32;
    // SAFETY: as above.
    version >= (Some(6), Some(7)) && fd >= 0 && unsafe { libc::close(fd) } == 0
}

/// Parent and child exchange pages of the memory that they share, with 4 calls each time: that is recorded.
#[test]
fn exchanging_memory_does_not_end_slices() {
    if !tells_stores() {
        return;
    }
    let options = ["-sp", "1", "-follow", "1", "-spmsec", "10000"];
    let counted = count_with("icount2", &options, &guest::named("shared_much").job(40)).unwrap();
    let [ends, all] = ["slices", "records"].map(|name| counted.statistic(name).unwrap());
    assert!(ends < 10.0 && all > 150.0, "{}", counted.report);
}

/// Some 21000 readings of the time stamp counter, half of them while the signals are blocked or ignored by which the recorder in the app stops.
#[test]
fn the_counter_is_read_inside_the_app() {
    let counted = count_with("icount2", &["-sp", "1"], &guest::named("counter_readings").job(3000)).unwrap();
    assert!(counted.statistic("records_in_process").unwrap() > 8000.0, "{}", counted.report);
    let counted = count_with("icount2", &["-sp", "1"], &guest::named("counter_interrupted").job(6)).unwrap();
    assert!(counted.statistic("records_in_process").unwrap() > 4000.0, "{}", counted.report);
}

#[test]
fn the_total_goes_to_a_file_on_request() {
    let scratch = Scratch::new().unwrap();
    let file = scratch.beside("total");
    let outcome = superpin(&["-t", "icount1", "-o", file.to_str().unwrap(), "--", "/bin/true"]);
    assert_eq!((outcome.status, text(&outcome.stderr).as_str()), (0, ""));
    assert!(parse_total(&fs::read_to_string(file).unwrap()).is_some_and(|n| n > 1000));
}

#[test]
fn an_app_is_found_by_the_search_path_and_as_a_script() {
    for sliced in ["0", "1"] {
        let outcome = superpin(&["-sp", sliced, "-t", "icount2", "--", "echo", "found"]);
        assert_eq!((outcome.status, text(&outcome.stdout).as_str()), (0, "found\n"));
    }
    let scratch = Scratch::new().unwrap();
    let script = executable(&scratch.beside("script"), b"#!/bin/sh\necho \"script $1\"\n");
    let outcome = superpin(&["-sp", "1", "-t", "icount2", "--", &script, "x"]);
    assert_eq!((outcome.status, text(&outcome.stdout).as_str()), (0, "script x\n"));
}

#[test]
fn an_end_by_a_signal_is_reported_as_a_shell_does() {
    for sliced in ["0", "1"] {
        let outcome = superpin(&["-sp", sliced, "-t", "icount2", "--", "/bin/sh", "-c", "kill -USR1 $$"]);
        assert_eq!(outcome.status, 128 + libc::SIGUSR1);
        assert!(parse_total(&text(&outcome.stderr)).is_some());
    }
}

#[test]
fn no_such_app() {
    fails(&["-t", "icount2", "--", "/nonexistent/app"], &[127], &["/nonexistent/app"]);
    fails(&["-sp", "1", "-t", "icount2", "--", "no-such-app-anywhere"], &[127], &["no-such-app-anywhere"]);
}

#[test]
fn not_an_executable() {
    fails(&["-t", "icount2", "--", "/etc/passwd"], &[126], &["/etc/passwd"]);
    fails(&["-sp", "1", "-t", "icount2", "--", "/tmp"], &[126], &["/tmp"]);
}

#[test]
fn an_executable_for_another_machine() {
    let scratch = Scratch::new().unwrap();
    // e_machine 3: i386; 183: aarch64
    for (class, machine, words) in [(1, 3, "32-bit"), (2, 183, "another processor")] {
        let file = executable(&scratch.beside(&format!("foreign{machine}")), &elf_header(class, machine));
        fails(&["-t", "icount2", "--", &file], &[126], &[&file, words]);
        fails(&["-sp", "1", "-t", "icount2", "--", &file], &[126], &[&file, words]);
    }
}

#[test]
fn no_such_tool() {
    fails(&["-t", "icount9", "--", "/bin/true"], &[125], &["icount9", "icount2"]);
    fails(&["-t", "/nonexistent/tool", "--", "/bin/true"], &[125], &["/nonexistent/tool"]);
}

#[test]
fn a_tool_image_that_is_not_one() {
    fails(&["-t", "/bin/ls", "--", "/bin/true"], &[125], &["/bin/ls", "tool image"]);
    fails(&["-sp", "1", "-t", "/etc/passwd", "--", "/bin/true"], &[125], &["/etc/passwd"]);
    let static_program = guest::named("kinds_of_executable.static-pie").executable().to_str().unwrap();
    fails(&["-t", static_program, "--", "/bin/true"], &[125], &["tool image"]);
}

#[test]
fn bad_option_values() {
    fails(&["-sp", "2", "-t", "icount2", "--", "/bin/true"], &[125], &["-sp"]);
    fails(&["-spmsec", "soon", "-t", "icount2", "--", "/bin/true"], &[125], &["-spmsec"]);
    fails(&["-spmsec", "0", "-t", "icount2", "--", "/bin/true"], &[125], &["-spmsec"]);
    fails(&["-spmp", "0", "-t", "icount2", "--", "/bin/true"], &[125], &["-spmp"]);
    fails(&["-nonsense", "-t", "icount2", "--", "/bin/true"], &[125], &["-nonsense"]);
    for sliced in ["0", "1"] {
        fails(&["-sp", sliced, "-t", "icount2", "--nonsense", "--", "/bin/true"], &[125], &["--nonsense"]);
    }
    fails(&["-t", "icount2", "-o", "/nonexistent/file", "--", "/bin/true"], &[125], &["/nonexistent/file"]);
}

#[test]
fn missing_arguments() {
    fails(&[], &[125], &["-t"]);
    fails(&["-t", "icount2"], &[125], &["--"]);
    fails(&["--", "/bin/true"], &[125], &["-t"]);
}

/// Copies a file in another process: a descriptor of ours would be inherited by what other threads start at that moment, and as long as they
/// hold it the file can't be executed.
fn copy(from: &Path, to: &Path) {
    assert!(Command::new("cp").args([from, to]).status().unwrap().success());
}

fn executable(path: &Path, contents: &[u8]) -> String {
    let mut written = path.as_os_str().to_owned();
    written.push(".contents");
    let written = Path::new(&written);
    fs::write(written, contents).unwrap();
    copy(written, path);
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    path.to_str().unwrap().to_owned()
}

/// The head of an executable ELF file of another machine.
fn elf_header(class: u8, machine: u16) -> Vec<u8> {
    let mut header = vec![0; 4096];
    header[..7].copy_from_slice(&[0x7f, b'E', b'L', b'F', class, 1, 1]);
    header[16..18].copy_from_slice(&2u16.to_le_bytes());
    header[18..20].copy_from_slice(&machine.to_le_bytes());
    header[20] = 1;
    header
}

/// A slice doesn't find the IBL stubs of indirect branches again that slices before it found.
#[test]
fn slices_inherit_ibl_stubs() {
    if ![Optimisation::Inherit, Optimisation::IblStubs].into_iter().all(switches::is_on) {
        return;
    }
    let misses = |options: &[&str]| {
        // Long slices have no IBL stubs.
        let slices = ["-sp", "1", "-spsysrecs", "0", "-spmp", "1", "-spmsec", "100"];
        let counted =
            count_with("icount2", &[&slices, options].concat(), &guest::named("many_targets").job(30)).unwrap();
        assert_eq!(counted.outcome.status, 0, "{:?}", counted.outcome);
        (counted.total, counted.statistic("entries_branch").expect("a statistic"))
    };
    let (inherited, own) = (misses(&[]), misses(&["-engine", "no-inherit"]));
    assert_eq!(inherited.0, own.0);
    assert!(own.1 > 30.0 * 128.0, "{own:?}: each slice comes to 128 targets");
    assert!(inherited.1 < own.1 / 4.0, "{inherited:?}, {own:?}");
}

/// What one slice translates the others find.
#[test]
fn slices_share_translations() {
    let run = |options: &[&str]| {
        let slices = ["-sp", "1", "-spsysrecs", "0", "-spmp", "1"];
        let counted =
            count_with("icount2", &[&slices, options].concat(), &guest::named("many_targets").job(30)).unwrap();
        assert_eq!(counted.outcome.status, 0, "{:?}", counted.outcome);
        let names = ["slices", "traces", "shared_hits", "shared_misses"];
        (counted.total, names.map(|name| counted.statistic(name).unwrap()))
    };
    let (total, [slices, traces, hits, misses]) = run(&[]);
    // A slice's end, and code that isn't a file's, are its own.
    assert!(slices > 20.0 && misses <= traces && traces < misses + 8.0 * slices, "{slices} {traces} {misses}");
    assert!(hits > misses, "{hits} {misses}");
    let (same, [_, each_its_own, none, none_either]) = run(&["-share", "0"]);
    assert_eq!((same, none, none_either), (total, 0.0, 0.0));
    assert!(each_its_own > 3.0 * traces, "{each_its_own} {traces}");
}

/// A slice that ends in a loop isn't asked at each iteration, though only a vector register changes there or the registers hold bits of data.
#[test]
fn ends_in_loops_are_told_apart_inline() {
    for (name, times) in [("vector_only_loop", 5), ("bits_in_registers", 1)] {
        let guest = guest::named(name);
        let job = guest.job(times * guest.large);
        let counted = count_with("icount2", &["-sp", "1", "-spmsec", "5"], &job).unwrap();
        let [slices, checks] = ["slices", "full_checks"].map(|name| counted.statistic(name).unwrap());
        assert!(slices > 3.0 && checks < 100.0 * slices, "{name}: {checks} in {slices} slices");
    }
}

/// Code that can be changed through another view of its memory isn't left for the runtime at each block.
#[test]
fn code_with_two_views_is_linked() {
    if ![Optimisation::SelfCheck, Optimisation::Late].into_iter().all(switches::is_on) {
        return;
    }
    let rounds = 300;
    let counted = count_with("icount2", &["-sp", "0"], &guest::named("code_two_views_called").job(rounds)).unwrap();
    // A round executes 280 blocks.
    let entries = counted.statistic("entries_code").unwrap();
    assert!(entries < 60.0 * rounds as f64, "{entries}");
}

/// The time in which pages are copied for slices isn't a slice's; a program that writes to little memory has as much time as was asked for.
#[test]
fn copying_is_not_a_slices_time() {
    let extensions = |name: &str, rounds| {
        let job = guest::named(name).job(rounds);
        let counted = count_with("icount2", &["-sp", "1", "-spmsec", "20"], &job).unwrap();
        counted.statistic("given_more_time").unwrap()
    };
    // One is due to the pages that it gets at its start.
    let (copying, computing) = (extensions("writes_many_pages", 20_000), extensions("vector_only_loop", 100_000_000));
    assert!(copying > 1.0 && computing < copying, "{copying} {computing}");
}

/// What a slice starts is started for all slices after it. The first two may begin before there is a snapshot, and the third if it is the second that takes it;
/// the fourth begins when the second has ended.
#[test]
fn slices_go_on_from_a_snapshot() {
    if !switches::is_on(Optimisation::Snapshot) {
        return;
    }
    let run = |options: &[&str]| {
        let slices = ["-sp", "1", "-spsysrecs", "0", "-spmp", "1"];
        let counted =
            count_with("icount2", &[&slices, options].concat(), &guest::named("many_targets").job(30)).unwrap();
        assert_eq!(counted.outcome.status, 0, "{:?}", counted.outcome);
        let [slices, pictured] = ["slices", "slices_from_picture"].map(|name| counted.statistic(name).unwrap());
        (counted.total, slices, pictured)
    };
    let (total, slices, pictured) = run(&[]);
    assert!(slices > 20.0 && pictured >= slices - 3.0, "{pictured} of {slices}");
    let (same, _, none) = run(&["-engine", "no-picture"]);
    assert_eq!((same, none), (total, 0.0));
}

#[test]
fn what_the_app_closes_is_closed() {
    // The app closes its input, a pipe that it has inherited and its output, and then waits.
    let script = "echo out; exec 0<&- 5>&- 1>&-; read go < \"$1\"";
    for sliced in ["0", "1"] {
        let scratch = Scratch::new().unwrap();
        let fifo = scratch.beside("go");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        let (mut extra, extra_end) = std::io::pipe().unwrap();
        let superpin = format!("{} -sp {sliced} -t icount2 -- sh -c \"$1\" sh \"$2\" 5>&2 2>/dev/null", in_script());
        let mut child = Command::new("sh")
            .process_group(0)
            .args(["-c", &superpin])
            .args([binary().as_os_str(), script.as_ref(), fifo.as_os_str()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(extra_end)
            .spawn()
            .unwrap();
        // It waits in its script, so these ends are seen only if nobody else holds the other ends.
        let (seen, ends) = mpsc::channel();
        let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        std::thread::spawn(move || {
            let mut text = String::new();
            output.read_to_string(&mut text).unwrap();
            extra.read_to_string(&mut text).unwrap();
            seen.send((text, input.write_all(b"x").map_err(|error| error.kind()))).unwrap();
        });
        let ends = ends.recv_timeout(stretched(Duration::from_secs(60))).inspect_err(|_| child.kill().unwrap());
        assert_eq!(ends, Ok(("out\n".to_owned(), Err(ErrorKind::BrokenPipe))), "-sp {sliced}");
        fs::write(fifo, "\n").unwrap();
        assert!(wait_for(&mut child).unwrap().success());
    }
}

#[test]
fn closed_standard_descriptors_stay_closed() {
    let scratch = Scratch::new().unwrap();
    let (total, seen) = (scratch.beside("total"), scratch.beside("seen"));
    let script =
        "open=; for fd in 0 1 2; do test -e /proc/self/fd/$fd && open=\"$open $fd\"; done; echo $open > \"$1\"";
    for closed in ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"] {
        for sliced in ["0", "1"] {
            let superpin =
                format!("{} -sp {sliced} -t icount2 -o \"$2\" -- sh -c \"$1\" sh \"$3\" {closed}", in_script());
            let mut shell = Command::new("sh");
            shell.args(["-c", &superpin]);
            shell.args([binary().as_os_str(), script.as_ref(), total.as_os_str(), seen.as_os_str()]);
            let run = wait_for(&mut shell.process_group(0).spawn().unwrap()).unwrap();
            assert!(run.success(), "{closed}: {run}");
            assert!(parse_total(&fs::read_to_string(&total).unwrap()).is_some_and(|n| n > 1000));
            let open: Vec<&str> = ["0", "1", "2"]
                .into_iter()
                .filter(|fd| !closed.contains(&format!("{fd}<&-")) && !closed.contains(&format!("{fd}>&-")))
                .collect();
            let seen = fs::read_to_string(&seen).unwrap();
            assert_eq!(seen.split_whitespace().collect::<Vec<_>>(), open, "{closed}");
        }
    }
}

#[test]
fn results_go_to_a_descriptor_that_is_named() {
    for sliced in ["0", "1"] {
        for named in ["/dev/fd/7", "/dev/stdout", "/proc/self/fd/1"] {
            let script = format!("{} -sp {sliced} -t icount2 -o {named} -- true 7>&1", in_script());
            let run = output(Command::new("sh").args(["-c", &script]).arg(binary())).unwrap();
            assert!(parse_total(&text(&run.stdout)).is_some_and(|n| n > 1000) && run.stderr.is_empty(), "{run:?}");
        }
        // What the app has written there stays, and what its processes count is told apart.
        let folder = Scratch::new().unwrap();
        let script = format!(
            "{} -sp {sliced} -follow 1 -t icount2 -o /dev/stdout -- sh -c 'echo first; /bin/true; :' >{}",
            in_script(),
            folder.beside("out").display()
        );
        let run = output(Command::new("sh").args(["-c", &script]).arg(binary())).unwrap();
        let told = fs::read_to_string(folder.beside("out")).unwrap();
        let count = |what: &str| told.matches(what).count();
        assert_eq!(
            (told.starts_with("first\n"), count("superpin: process"), count("Total")),
            (true, 2, 2),
            "{run:?} {told}"
        );
    }
}

/// Soft limits are the app's, and superpin has as much as it needs.
#[test]
fn an_app_starts_with_the_limits_that_superpin_was_given() {
    let limits = [("v", "3000000"), ("f", "10"), ("n", "9"), ("i", "0"), ("t", "1000")];
    let set: String = limits.map(|(option, value)| format!("ulimit -S -{option} {value}; ")).concat();
    let show: String = limits.map(|(option, _)| format!("ulimit -S -{option}; ")).concat();
    let expected: String = limits.map(|(_, value)| format!("{value}\n")).concat();
    for sliced in ["0", "1"] {
        let run_it = format!("{set} {} -sp {sliced} -t icount2 -- /bin/bash -c '{show}'", in_script());
        let outcome = run(&Job::new(["/bin/bash", "-c", &run_it]).with(binary())).unwrap();
        let told = text(&outcome.stderr);
        assert_eq!((outcome.status, text(&outcome.stdout)), (0, expected.clone()), "{told}");
        assert!(parse_total(&told).is_some(), "{told}");
    }
}

#[test]
fn hard_limits_that_are_too_low_are_named() {
    let limited = |option: &str, value: &str, sliced: &str| {
        let script = format!("ulimit -{option} {value}; {} -sp {sliced} -t icount2 -- echo ran", in_script());
        output(Command::new("/bin/bash").args(["-c", &script]).arg(binary())).unwrap()
    };
    for sliced in ["0", "1"] {
        for (option, value) in
            [("v", "80000000"), ("v", "1397751808"), ("d", "10000"), ("d", "1300000"), ("n", "8"), ("n", "10")]
        {
            let run = limited(option, value, sliced);
            let told = text(&run.stderr);
            let expected = format!("`ulimit -H{option}` is too low here: superpin needs ");
            assert!(run.status.code() == Some(125) && told.contains(&expected), "{option} {value}: {told}");
            assert!(run.stdout.is_empty(), "the app ran");
        }
        // What docs/limits.md says is enough.
        for (option, value) in [("v", "1398800384"), ("d", "1468006")] {
            let run = limited(option, value, sliced);
            assert_eq!(run.status.code(), Some(0), "{option} {value}: {}", text(&run.stderr));
        }
    }
    let run = limited("f", "10", "1");
    let told = text(&run.stderr);
    assert!(run.status.code() == Some(125) && told.contains("`ulimit -f`"), "{told}");
}

/// What shared memory holds is found out in another way where its object can't be opened by the name that /proc has for it.
#[test]
fn shared_memory_is_copied_for_ordinary_users_as_well() {
    /// Nobody's.
    const USER: u32 = 54322;
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        // The guests are run by an ordinary user then.
        return;
    }
    let folder = Scratch::new().unwrap();
    let guest = guest::named("shared_partly_written");
    let copies = [binary(), guest.executable()].map(|from| {
        let to = folder.cwd().join(from.file_name().unwrap());
        copy(from, &to);
        to
    });
    let open_to_all = |path: &Path| fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    folder.cwd().ancestors().take(2).for_each(open_to_all);
    let printed = ["-sp 0", "-sp 1 -spmsec 5 -spverify 1"].map(|options| {
        let mut command = Command::new(&copies[0]);
        command
            .args(switches::options())
            .args(options.split(' '))
            .args(["-t", "icount2", "--"])
            .arg(&copies[1])
            .arg(guest.large.to_string());
        let output = output(command.uid(USER).gid(USER).current_dir(folder.cwd()).env_clear()).unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        (text(&output.stdout), text(&output.stderr))
    });
    assert_eq!(printed[0], printed[1]);
}
