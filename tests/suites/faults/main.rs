//! Processes of a run are killed in mid-run: the outcome must be clear, and nothing may be left.
//!
//! All processes of a run are in one process group, the test's own, so "nothing is left" can be seen from outside.

mod processes;
mod running;
mod slices;
mod streams;

use std::fs;
use std::os::unix::process::CommandExt;
use std::thread::sleep;
use std::time::Duration;

use suites::deadline::output;
use suites::guest;
use suites::run::{Job, as_shell, run};
use suites::selection::Selection;
use suites::superpin::{binary, command, parse_total};
use suites::switches;

use processes::{Kind, Process, catches};
use running::{
    ENDLESS, LONG, LONG_SLICES, Running, SERIAL, SHORT, SLICED, failed_with_the_app_finished, native, shared_memory,
};

/// Rounds of `signal_in_string` whose one instruction takes about a second natively.
const LONG_STRING: u64 = 4_000;

#[test]
fn the_collector_is_killed() {
    let running = Running::start(SLICED, LONG);
    running.find(Kind::Slice);
    running.find(Kind::Collector).send(libc::SIGKILL);
    let ended = running.end();
    failed_with_the_app_finished(&ended);
    assert!(ended.stderr.contains("collector"), "{}", ended.stderr);
}

/// The app goes on alone from the middle of a repeated string instruction, at whose end it was to get a signal: it gets it.
#[test]
fn the_collector_is_killed_while_a_signal_waits() {
    // The signal comes after 20 ms.
    let job = guest::named("signal_in_string").job(LONG_STRING);
    let running = Running::start_job(LONG_SLICES, &job);
    let app = running.find(Kind::App).pid;
    running.wait_until("the app in its string", || {
        let mapped = fs::read_to_string(format!("/proc/{app}/statm")).unwrap_or_default();
        let pages = mapped.split_whitespace().next().and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0);
        pages > LONG_STRING << 18 >> 12 && catches(app, libc::SIGALRM)
    });
    sleep(Duration::from_millis(200));
    running.find(Kind::Collector).send(libc::SIGKILL);
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(125), "{}", ended.stderr);
    assert_eq!(ended.stdout.as_bytes(), run(&job).unwrap().stdout, "{}", ended.stderr);
}

#[test]
fn the_app_is_killed() {
    for options in [SLICED, SERIAL] {
        let running = Running::start(options, ENDLESS);
        let app = running.find(Kind::App);
        sleep(Duration::from_millis(200));
        app.send(libc::SIGKILL);
        let ended = running.end();
        // Where the app was when it died can't be known, so there is no total; the status says what happened or that we failed.
        assert!([125, 128 + libc::SIGKILL].contains(&as_shell(ended.status)), "{:?} {}", ended.status, ended.stderr);
        assert!(!ended.stderr.is_empty());
        assert_eq!(parse_total(&ended.stderr), None);
    }
}

#[test]
fn superpin_is_killed() {
    for options in [SLICED, SERIAL] {
        let running = Running::start(options, ENDLESS);
        running.find(if options == SLICED { Kind::Slice } else { Kind::App });
        sleep(Duration::from_millis(100));
        Process { pid: running.superpin.id() as i32, kind: Kind::Superpin }.send(libc::SIGKILL);
        assert_eq!(as_shell(running.end().status), 128 + libc::SIGKILL);
    }
}

/// What is left of a process whose first thread has ended is no process by its number, but its other threads run on.
#[test]
fn superpin_is_killed_after_the_first_thread() {
    let running = Running::start_job(SERIAL, &guest::named("threads_first_ends_at_once").job(u64::MAX >> 1));
    let app = running.find(Kind::App).pid;
    let threads = || fs::read_dir(format!("/proc/{app}/task")).map_or(0, Iterator::count);
    let has_ended = || fs::read_to_string(format!("/proc/{app}/stat")).is_ok_and(|stat| stat.contains(") Z "));
    running.wait_until("the first thread to end", || has_ended() && threads() > 1);
    Process { pid: running.superpin.id() as i32, kind: Kind::Superpin }.send(libc::SIGKILL);
    running.wait_until("the others to end", || threads() <= 1);
    assert_eq!(as_shell(running.end().status), 128 + libc::SIGKILL);
}

/// The same for any process of a run while the recorder in the app writes to the logs of slices, which the app has mapped for that.
#[test]
fn one_is_killed_while_logs_are_mapped() {
    let job = guest::named("many_calls").job(ENDLESS);
    for kind in [Kind::Superpin, Kind::App, Kind::Waiting] {
        let running = Running::start_job(SLICED, &job);
        let app = running.find(Kind::App).pid;
        let has_log =
            || fs::read_to_string(format!("/proc/{app}/maps")).is_ok_and(|maps| maps.contains("/memfd:superpin-run"));
        running.wait_until("a log to be mapped", has_log);
        running.find(kind).send_if_alive(libc::SIGKILL);
        if kind == Kind::Waiting {
            // The run goes on, or fails and lets the app go on.
            Process { pid: app, kind: Kind::App }.send_if_alive(libc::SIGKILL);
        }
        running.end();
    }
}

/// Ctrl-C reaches the whole group: the app ends by it, superpin reports that and gives the total so far.
#[test]
fn ctrl_c() {
    for options in [SLICED, SERIAL] {
        let running = Running::start(options, ENDLESS);
        running.find(if options == SLICED { Kind::Slice } else { Kind::App });
        sleep(Duration::from_millis(300));
        Process { pid: -(running.superpin.id() as i32), kind: Kind::Superpin }.send(libc::SIGINT);
        let ended = running.end();
        assert_eq!(as_shell(ended.status), 128 + libc::SIGINT, "{}", ended.stderr);
        assert!(parse_total(&ended.stderr).is_some_and(|n| n > 0), "{}", ended.stderr);
    }
}

/// A signal to superpin alone is passed on to the app.
#[test]
fn superpin_is_asked_to_end() {
    for options in [SLICED, SERIAL] {
        let running = Running::start(options, ENDLESS);
        running.find(if options == SLICED { Kind::Slice } else { Kind::App });
        sleep(Duration::from_millis(100));
        Process { pid: running.superpin.id() as i32, kind: Kind::Superpin }.send(libc::SIGTERM);
        let ended = running.end();
        assert_eq!(as_shell(ended.status), 128 + libc::SIGTERM, "{}", ended.stderr);
    }
}

/// Any process of a run that follows the app's children, killed at different moments: the run ends, and nothing is left.
#[test]
fn one_of_a_family_is_killed() {
    const ROUNDS: u64 = 30_000;
    let job = guest::named("fork_tree").job(ROUNDS);
    for options in [["-sp", "1", "-spmsec", "20", "-follow", "1"], ["-sp", "0", "-spmsec", "20", "-follow", "1"]] {
        // Half of them in each round.
        let moments = [0, 1, 2, 4, 7, 12].into_iter().enumerate();
        for (_, n) in moments.filter(|(at, _)| Selection::asked().has(options[1], *at, 2)) {
            let running = Running::start_job(&options, &job);
            let is_complete =
                |all: &[Process]| all.iter().filter(|p| p.kind == Kind::App).count() >= 4 || all.is_empty();
            running.wait_until("four processes of the app", || is_complete(&running.processes()));
            sleep(Duration::from_millis(10 * n));
            let processes = running.processes();
            if let Some(process) = processes.iter().cycle().nth(n as usize) {
                process.send_if_alive(libc::SIGKILL);
            }
            running.end();
        }
    }
}

#[test]
fn an_undisturbed_run_leaves_nothing() {
    for options in [SLICED, SERIAL] {
        let ended = Running::start(options, SHORT).end();
        assert_eq!((ended.status.code(), ended.stdout.as_bytes()), (Some(0), native(SHORT).stdout.as_slice()));
        assert!(parse_total(&ended.stderr).is_some());
    }
}

#[test]
fn a_program_that_does_nothing_leaves_nothing() {
    let before = shared_memory();
    for _ in 0..20 {
        let prefix = command().into_iter().chain(["-sp", "1", "-t", "icount2", "--"].map(Into::into));
        let outcome = run(&Job::new(["/bin/true"]).under(prefix)).unwrap();
        assert_eq!(outcome.status, 0);
    }
    assert!(shared_memory().is_subset(&before));
}

/// Processes are short, as an ordinary user meets it: the run copes, or says so and lets the app go on.
#[test]
fn few_processes_are_enough_or_the_reason_is_told() {
    /// Nobody's: all its processes are the run's.
    const USER: u32 = 54321;
    // SAFETY: geteuid has no preconditions.
    if unsafe { libc::geteuid() } != 0 {
        return;
    }
    let guest = guest::named("loops");
    let copies = [binary(), guest.executable()].map(|from| {
        let name = format!("superpin-{}-{}", std::process::id(), from.file_name().unwrap().display());
        let to = std::env::temp_dir().join(name);
        fs::copy(from, &to).unwrap();
        to
    });
    let run_with = |limit: &str, options: &str| {
        let switches = switches::options().join(" ");
        let script =
            format!("ulimit -u {limit}; exec \"$0\" {switches} {options} -t icount2 -- \"$1\" {}", guest.large);
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &script]).args(&copies).uid(USER).gid(USER).current_dir("/").env_clear();
        output(&mut shell).unwrap()
    };
    let serial = run_with("unlimited", "-sp 0");
    let total = parse_total(&String::from_utf8_lossy(&serial.stderr));
    assert!(total.is_some(), "{serial:?}");
    for limit in ["2", "5", "7", "9"] {
        let output = run_with(limit, "-sp 1 -spmsec 5");
        let told = String::from_utf8_lossy(&output.stderr);
        match output.status.code() {
            Some(0) => assert_eq!(parse_total(&told), total, "{limit}: {told}"),
            Some(125) => assert!(told.contains("process") && parse_total(&told).is_none(), "{limit}: {told}"),
            _ => panic!("{limit}: {output:?}"),
        }
        // With too few to start the app there is nothing to see of it.
        assert!(output.stdout == serial.stdout || output.stdout.is_empty() && limit == "2", "{limit}: {output:?}");
    }
    copies.iter().for_each(|copy| fs::remove_file(copy).unwrap());
}
