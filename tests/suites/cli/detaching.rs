//! An app that goes on natively, with nothing of superpin's in it.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use suites::deadline::{output, wait_for, wait_until};
use suites::guest;
use suites::run::{Job, Scratch, as_shell};
use suites::superpin::{binary, command, example, parse_total};

const WAYS: [&[&str]; 3] = [&["-sp", "0"], &["-sp", "1"], &["-sp", "1", "-spmsec", "5", "-record-in-process", "0"]];

/// A guest that has said that it waits in a read.
pub struct Waiting {
    pub started: Child,
    /// Its number.
    pub pid: i32,
    told: PathBuf,
    _scratch: Scratch,
}

impl Waiting {
    /// Starts it, with these words before it.
    pub fn start(words: &[&str], job: &Job) -> Self {
        let scratch = Scratch::new().unwrap();
        let told = scratch.beside("err");
        let before = if words.is_empty() { Vec::new() } else { command() };
        let job = job.clone().with("tell").under(before.into_iter().chain(words.iter().map(Into::into)));
        let mut command = job.command(&scratch.cwd()).unwrap();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(&told).unwrap());
        let started = command.spawn().unwrap();
        let mut waiting = Self { started, pid: 0, told, _scratch: scratch };
        wait_until(|| format!("it isn't ready: {}", waiting.told()), || waiting.number().is_some());
        waiting.pid = waiting.number().unwrap();
        let of_process = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", waiting.pid)).unwrap_or_default();
        // Where it stops for superpin it waits, too, as it does for a moment between what it has said and its call.
        let reads =
            || of_process("syscall").starts_with("0 0x0 ") && !["0", "ptrace_stop"].contains(&&*of_process("wchan"));
        wait_until(|| format!("it doesn't read, but is in {:?}", of_process("syscall")), reads);
        waiting
    }

    fn number(&self) -> Option<i32> {
        let told = self.told();
        let line = told.lines().find(|line| line.starts_with("ready ") && told.contains(&format!("{line}\n")))?;
        line.strip_prefix("ready ")?.parse().ok()
    }

    /// What it, and superpin, have said so far.
    pub fn told(&self) -> String {
        fs::read_to_string(&self.told).unwrap_or_default()
    }

    /// Whether it has anything of superpin's.
    pub fn is_native(&self) -> bool {
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.pid)).unwrap();
        let start = |line: &str| u64::from_str_radix(line.split('-').next().unwrap(), 16).unwrap();
        let in_bubble = |line: &str| (0x5408_0000_0000..0x5555_5000_0000).contains(&start(line));
        let status = fs::read_to_string(format!("/proc/{}/status", self.pid)).unwrap();
        !maps.lines().any(in_bubble) && status.contains("TracerPid:\t0\n")
    }

    /// Lets it read: its output, with what is left of superpin's, and its status.
    pub fn end(self) -> (String, i32) {
        let (text, status, _) = self.reads(b"!");
        (text, status)
    }

    /// Lets it read this. Also gives what it, and superpin, have said.
    fn reads(mut self, byte: &[u8]) -> (String, i32, String) {
        self.started.stdin.take().unwrap().write_all(byte).unwrap();
        let mut text = String::new();
        self.started.stdout.take().unwrap().read_to_string(&mut text).unwrap();
        let status = as_shell(wait_for(&mut self.started).unwrap());
        (text, status, self.told())
    }
}

/// Has superpin let a process go.
pub fn detach(pid: i32) {
    let done = output(Command::new(binary()).arg("detach").arg(pid.to_string()));
    let done = output_of(done);
    assert_eq!(done, (0, String::new()));
}

fn output_of(done: std::io::Result<std::process::Output>) -> (i32, String) {
    let done = done.unwrap();
    (as_shell(done.status), String::from_utf8_lossy(&done.stderr).into_owned())
}

#[test]
fn it_is_let_go_where_it_waits_and_has_its_own_end() {
    let job = guest::named("lives_on").job(3);
    let native = Waiting::start(&[], &job).end();
    assert_eq!(native.1, 5);
    let mut totals = Vec::new();
    for (number, way) in WAYS.into_iter().enumerate() {
        let app = Waiting::start(&[way, &["-t", "icount2", "--"]].concat(), &job);
        // By superpin's number that is the app.
        detach(if number == 0 { app.pid } else { app.started.id() as i32 });
        wait_until(|| format!("{way:?}: no result: {}", app.told()), || parse_total(&app.told()).is_some());
        assert!(app.is_native(), "{way:?}");
        totals.push(parse_total(&app.told()));
        assert_eq!(app.end(), native, "{way:?}");
    }
    assert_eq!(totals, [totals[0]; 3]);
}

#[test]
fn it_is_let_go_with_its_own_limits() {
    let job = guest::named("lives_on_limited").job(3);
    let native = Waiting::start(&[], &job).end();
    for way in WAYS {
        let app = Waiting::start(&[way, &["-t", "icount2", "--"]].concat(), &job);
        detach(app.pid);
        wait_until(|| format!("{way:?}: no result: {}", app.told()), || parse_total(&app.told()).is_some());
        assert!(app.is_native(), "{way:?}");
        assert_eq!(app.end(), native, "{way:?}");
    }
}

#[test]
fn threads_are_let_go_wherever_they_are() {
    let job = guest::named("lives_on_threads").job(1);
    let native = Waiting::start(&[], &job).end();
    for options in MODES.into_iter().cycle().take(6) {
        let app = Waiting::start(&[options, &["-t", "icount2", "--"]].concat(), &job);
        detach(app.pid);
        wait_until(|| format!("no result: {}", app.told()), || parse_total(&app.told()).is_some());
        assert!(app.is_native());
        assert_eq!(app.end(), native);
    }
}

#[test]
fn a_serial_app_goes_on_natively_behind_the_region() {
    for (name, total) in [("lives_on", 3000), ("lives_on_threads", 3000)] {
        let job = guest::named(name).job(3);
        let native = Waiting::start(&[], &job).end();
        let app = Waiting::start(&["-stop-icount", "3000", "-t", "icount2", "--"], &job);
        assert!(app.is_native(), "{name}");
        let told = app.told.clone();
        let scratch = Scratch::new().unwrap();
        let kept = scratch.beside("told");
        fs::hard_link(&told, &kept).unwrap();
        assert_eq!(app.end(), native, "{name}");
        assert_eq!(parse_total(&fs::read_to_string(&kept).unwrap()), Some(total), "{name}");
    }
}

#[test]
fn a_serial_app_goes_on_natively_when_its_tool_has_seen_enough() {
    for name in ["lives_on", "lives_on_threads"] {
        let job = guest::named(name).job(3);
        let native = Waiting::start(&[], &job).end();
        let stopping = ["-t", "stopping", "--at", "3000", "--"].map(Into::into);
        let app = Waiting::start(&[], &job.under([example("random").into()].into_iter().chain(stopping)));
        assert!(app.is_native(), "{name}");
        assert_eq!(app.end(), native, "{name}");
    }
}

#[test]
fn it_is_let_go_after_a_time() {
    for way in WAYS {
        let job = Job::new(["perl", "-e", "my $until = time + 2; while (time < $until) { $s++ } exit 9"]);
        let options = [way, &["-detach-after", "0.2", "-t", "icount2", "--"]].concat();
        let outcome =
            suites::run::run(&job.under(command().into_iter().chain(options.iter().map(Into::into)))).unwrap();
        let told = String::from_utf8_lossy(&outcome.stderr).into_owned();
        assert!(outcome.status == 9 && parse_total(&told).is_some(), "{way:?}: {} {told}", outcome.status);
    }
}

#[test]
fn what_cannot_be_let_go_is_told() {
    let refused = |arguments: &[&str]| {
        let done = output(Command::new(binary()).arg("detach").args(arguments));
        let (status, text) = output_of(done);
        assert_eq!(status, 125, "{text}");
        text
    };
    assert!(refused(&[]).contains("superpin detach PID") && refused(&["x"]).contains("superpin detach PID"));
    assert!(refused(&["2147483647"]).contains("no process 2147483647"));
    assert!(refused(&[&std::process::id().to_string()]).contains("doesn't follow"));
}

#[test]
fn help_is_no_failure() {
    let (status, told) = output_of(output(Command::new(binary()).args(["detach", "--help"])));
    assert_eq!(status, 0, "{told}");
    let done = output(Command::new(binary()).args(["detach", "-h"])).unwrap();
    assert!(
        String::from_utf8_lossy(&done.stdout).starts_with("usage: superpin detach PID\n") && done.stderr.is_empty()
    );
}

/// Attaches to a process.
fn attach(pid: i32, options: &[&str], told: &std::path::Path) -> Child {
    attach_with(&["icount2"], pid, options, told)
}

/// The same with another tool.
fn attach_with(tool: &[&str], pid: i32, options: &[&str], told: &std::path::Path) -> Child {
    let words = command();
    let mut superpin = Command::new(&words[0]);
    superpin.args(&words[1..]).args(["-pid", &pid.to_string()]).args(options).arg("-t").args(tool);
    superpin.stderr(File::create(told).unwrap()).spawn().unwrap()
}

fn is_traced(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| !status.contains("TracerPid:\t0\n"))
}

/// Whether superpin's own memory is there: reserved where slices are forked from it, mapped in part where the tool runs in it.
fn is_taken_over(pid: i32, options: &[&str]) -> bool {
    let start = if options.is_empty() { "5555200" } else { "5408" };
    fs::read_to_string(format!("/proc/{pid}/maps")).is_ok_and(|maps| maps.lines().any(|line| line.starts_with(start)))
}

/// Whether it waits in a read of its standard input, and isn't held by its tracer.
fn is_in_its_read(pid: i32) -> bool {
    let said = |name: &str| fs::read_to_string(format!("/proc/{pid}/{name}")).unwrap_or_default();
    said("status").contains("State:\tS") && said("syscall").starts_with("0 0x0 ")
}

/// Serially, and in slices.
const MODES: [&[&str]; 2] = [&[], &["-sp", "1", "-spmsec", "20"]];

#[test]
fn a_running_process_is_attached_to_and_let_go() {
    for options in MODES {
        is_attached_to_and_let_go("lives_on", options, 1);
    }
}

#[test]
fn a_running_process_with_threads_is_attached_to_and_let_go() {
    for options in MODES {
        is_attached_to_and_let_go("lives_on_threads", options, u64::MAX);
    }
}

/// `most`: instructions that it may execute meanwhile.
fn is_attached_to_and_let_go(name: &str, options: &[&str], most: u64) {
    let job = guest::named(name).job(3);
    let native = Waiting::start(&[], &job).end();
    let scratch = Scratch::new().unwrap();
    let told = scratch.beside("told");
    for by_signal in [false, true] {
        let app = Waiting::start(&[], &job);
        let mut superpin = attach(app.pid, options, &told);
        wait_until(|| "it isn't taken over".into(), || is_taken_over(app.pid, options));
        if by_signal {
            // SAFETY: no memory is involved; the child hasn't been waited for.
            unsafe { libc::kill(superpin.id() as i32, libc::SIGINT) };
        } else {
            detach(app.pid);
        }
        assert_eq!(as_shell(wait_for(&mut superpin).unwrap()), 0);
        let text = fs::read_to_string(&told).unwrap();
        // The calls that it waits in, unless it hasn't come to those again.
        assert!(parse_total(&text).is_some_and(|total| total <= most), "{text}");
        assert!(app.is_native());
        assert_eq!(app.end(), native);
    }
}

#[test]
fn a_process_is_let_go_that_is_about_to_be_attached_to() {
    let job = guest::named("lives_on").job(1);
    let native = Waiting::start(&[], &job).end();
    let scratch = Scratch::new().unwrap();
    let told = scratch.beside("told");
    for options in [MODES, MODES].concat() {
        let app = Waiting::start(&[], &job);
        let mut superpin = attach(app.pid, options, &told);
        detach(app.pid);
        let status = as_shell(wait_for(&mut superpin).unwrap());
        assert_eq!(status, 0, "{}", fs::read_to_string(&told).unwrap());
        assert!(app.is_native(), "{options:?}");
        assert_eq!(app.end(), native, "{options:?}");
    }
}

/// By number and by time, with several tools.
#[test]
fn a_busy_process_is_let_go_behind_a_region() {
    let scratch = Scratch::new().unwrap();
    let told = scratch.beside("told");
    let job = guest::named("loops").job(10_000_000);
    let mut command = Command::new(&job.argv[0]);
    let mut app = Busy(command.args(&job.argv[1..]).stdout(Stdio::null()).spawn().unwrap());
    let pid = app.0.id() as i32;
    for mode in MODES {
        for tool in [&["icount2"][..], &["opcodes"], &["icount2", "-threads", "1"], &["hot"]] {
            let region = [mode, &["-skip", "1000", "-trace", "3000000"]].concat();
            let mut superpin = attach_with(tool, pid, &region, &told);
            let status = as_shell(wait_for(&mut superpin).unwrap());
            let text = fs::read_to_string(&told).unwrap();
            assert_eq!((status, parse_total(&text)), (0, Some(3_000_000)), "{mode:?} {tool:?}: {text}");
            assert!(!is_traced(pid), "{mode:?} {tool:?}");
        }
        let mut superpin = attach(pid, &[mode, &["-detach-after", "0.1"]].concat(), &told);
        let status = as_shell(wait_for(&mut superpin).unwrap());
        let text = fs::read_to_string(&told).unwrap();
        assert!(status == 0 && parse_total(&text).is_some_and(|total| total > 0), "{mode:?}: {text}");
    }
    assert!(app.0.try_wait().unwrap().is_none(), "it lives");
}

/// A process that would go on for long.
struct Busy(Child);

impl Drop for Busy {
    fn drop(&mut self) {
        // It has ended if these fail.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[test]
fn what_an_attached_process_does_is_counted_once() {
    let scratch = Scratch::new().unwrap();
    let told = scratch.beside("told");
    for options in MODES {
        let before = [1, 2, 3].map(|rounds| {
            let job = guest::named("lives_on").job(rounds);
            // Where memory lies decides how libc copies it.
            let app = Waiting::start(&[], &job.under(["setarch", "-R"].map(Into::into)));
            let mut superpin = attach(app.pid, options, &told);
            wait_until(|| "it isn't taken over".into(), || is_taken_over(app.pid, options));
            let (_, status, _) = app.reads(b".");
            assert_eq!((status, as_shell(wait_for(&mut superpin).unwrap())), (5, 5));
            let attached = parse_total(&fs::read_to_string(&told).unwrap()).unwrap();
            let (_, status, all) = Waiting::start(&["-sp", "1", "-t", "icount2", "--"], &job).reads(b".");
            assert_eq!(status, 5);
            parse_total(&all).unwrap() - attached
        });
        // What it has done before is the same each time.
        assert_eq!(before, [before[0]; 3], "{options:?}");
    }
}

#[test]
fn an_attached_process_that_dies_or_outlives_superpin_is_not_harmed() {
    let scratch = Scratch::new().unwrap();
    let told = scratch.beside("told");
    let job = guest::named("lives_on").job(1);
    let mut native = Waiting::start(&[], &job).end();
    native.0.truncate(native.0.find("left").unwrap());
    for options in MODES {
        // Superpin is killed: it lives on as it is.
        let app = Waiting::start(&[], &job);
        let mut superpin = attach(app.pid, options, &told);
        // Killed in between, it would leave the process in a call that isn't its own.
        wait_until(|| "it isn't taken over".into(), || is_taken_over(app.pid, options) && is_in_its_read(app.pid));
        superpin.kill().unwrap();
        wait_for(&mut superpin).unwrap();
        wait_until(|| "it is still traced".into(), || !is_traced(app.pid));
        let (mut text, status) = app.end();
        // The bubble is still there.
        text.truncate(text.find("left").unwrap());
        assert_eq!((text, status), native, "{options:?}");
    }
}

#[test]
fn what_cannot_be_attached_to_is_told_and_goes_on() {
    let scratch = Scratch::new().unwrap();
    let told = scratch.beside("told");
    let refused = |pid: i32, options: &[&str]| {
        let mut superpin = attach(pid, options, &told);
        assert_eq!(as_shell(wait_for(&mut superpin).unwrap()), 125);
        fs::read_to_string(&told).unwrap()
    };
    assert!(refused(i32::MAX, &[]).contains("there is no process"));
    let job = guest::named("lives_on_threads").job(1);
    let native = Waiting::start(&[], &job).end();
    let app = Waiting::start(&[], &job);
    assert!(refused(app.pid, &["-sp", "1", "-follow", "1"]).contains("isn't followed"));
    assert!(!is_traced(app.pid));
    assert_eq!(app.end(), native);
    // Traced already.
    let job = guest::named("lives_on").job(1);
    let app = Waiting::start(&["-t", "icount2", "--"], &job);
    assert!(refused(app.pid, &[]).contains("is traced by process"));
    app.end();
    let mut zombie = Command::new("true").spawn().unwrap();
    let pid = zombie.id() as i32;
    let state = || fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    wait_until(|| "it doesn't end".into(), || state().contains("zombie"));
    assert!(refused(pid, &[]).contains("has ended"));
    zombie.wait().unwrap();
}
