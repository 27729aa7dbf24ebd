//! Processes of a run are killed in mid-run: the outcome must be clear, and nothing may be left.
//!
//! All processes of a run are in one process group, the test's own, so "nothing is left" can be seen from outside.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus};
use std::sync::OnceLock;
use std::thread::sleep;
use std::time::Duration;

use suites::deadline::{output, wait_for, wait_until};
use suites::guest::{self, Guest};
use suites::run::{Job, Outcome, Scratch, as_shell, run};
use suites::selection::Selection;
use suites::superpin::{binary, command, parse_total};
use suites::switches;

/// Rounds of `loops` that take about a second natively.
const SECOND: u64 = 80_000;

/// Rounds for runs in which something happens before their end: some forty slices.
const LONG: u64 = 2 * SECOND;

/// Rounds for runs that are ended in the middle, however slowly the test itself gets on.
const ENDLESS: u64 = 100 * SECOND;

/// Rounds of `signal_in_string` whose one instruction takes about a second natively.
const LONG_STRING: u64 = 4_000;

const SLICED: &[&str] = &["-sp", "1", "-spmsec", "50", "-spmp", "4"];
/// With slices that take so long that each is seen several times, even by a test that seldom gets to run.
const LONG_SLICES: &[&str] = &["-sp", "1", "-spmsec", "500", "-spmp", "4"];
const SERIAL: &[&str] = &["-sp", "0"];

/// A run under superpin that is still going on.
struct Running {
    scratch: Scratch,
    superpin: Child,
    shared_memory: BTreeSet<String>,
}

/// What became of it.
struct Ended {
    status: ExitStatus,
    stdout: String,
    stderr: String,
}

impl Running {
    fn start(options: &[&str], rounds: u64) -> Self {
        Self::start_job(options, &app().job(rounds))
    }

    fn start_job(options: &[&str], job: &Job) -> Self {
        let scratch = Scratch::new().unwrap();
        let prefix =
            command().into_iter().chain(options.iter().map(Into::into)).chain(["-t", "icount2", "--"].map(Into::into));
        let mut command = job.under(prefix).command(&scratch.cwd()).unwrap();
        command.stdout(File::create(scratch.beside("out")).unwrap());
        command.stderr(File::create(scratch.beside("err")).unwrap()).process_group(0);
        let shared_memory = shared_memory();
        Self { superpin: command.spawn().unwrap(), scratch, shared_memory }
    }

    fn processes(&self) -> Vec<Process> {
        group(self.superpin.id())
    }

    /// The first process of a kind to appear.
    fn find(&self, kind: Kind) -> Process {
        self.find_another(kind).unwrap_or_else(|| panic!("no {kind:?} among {:?}\n{}", self.processes(), self.told()))
    }

    /// The same, if one appears before the run ends.
    fn find_another(&self, kind: Kind) -> Option<Process> {
        let mut found = None;
        self.wait_until(&format!("a process that is {kind:?}"), || {
            let processes = self.processes();
            let has_ended = processes.is_empty();
            found = processes.into_iter().find(|p| p.kind == kind);
            found.is_some() || has_ended
        });
        found
    }

    fn wait_until(&self, what: &str, is_so: impl FnMut() -> bool) {
        wait_until(|| format!("{what}; there are {:?}\n{}", self.processes(), self.told()), is_so);
    }

    fn told(&self) -> String {
        fs::read_to_string(self.scratch.beside("err")).unwrap_or_default()
    }

    /// Waits for superpin and then for everything else of the run.
    fn end(mut self) -> Ended {
        let status = wait_for(&mut self.superpin).unwrap();
        self.wait_until("all others to end", || self.processes().is_empty());
        assert!(shared_memory().is_subset(&self.shared_memory), "left in /dev/shm: {:?}", shared_memory());
        let stdout = fs::read_to_string(self.scratch.beside("out")).unwrap();
        Ended { status, stdout, stderr: self.told() }
    }
}

/// A test that fails in mid-run leaves nothing either.
impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.superpin.try_wait(), Ok(None)) {
            // SAFETY: kill reads no memory; the group was made for this child, which isn't reaped yet.
            unsafe { libc::kill(-(self.superpin.id() as i32), libc::SIGKILL) };
            let _ = self.superpin.wait();
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Superpin,
    Collector,
    App,
    /// A slice that has been running for a while.
    Slice,
    /// A slice that boots or waits for its end to be known, or a process that keeps a first state.
    Waiting,
}

#[derive(Debug)]
struct Process {
    pid: i32,
    kind: Kind,
}

impl Process {
    fn send(&self, signal: i32) {
        assert!(self.send_if_alive(signal), "{self:?} is gone");
    }

    fn send_if_alive(&self, signal: i32) -> bool {
        // SAFETY: kill reads no memory; the process belongs to the run of this test.
        unsafe { libc::kill(self.pid, signal) == 0 }
    }
}

/// Living processes of a group. Slices, and what keeps their first states, are forks of the app that nobody traces; the app
/// is traced.
fn group(leader: u32) -> Vec<Process> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let (state, _parent, group) = (fields.next()?, fields.next()?, fields.next()?);
        let ticks: u64 = fields.skip(8).take(2).map(|n| n.parse().unwrap_or(0)).sum();
        if state == "Z" || state == "X" || group != leader.to_string() {
            return None;
        }
        let arguments = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let traced = !status.lines().any(|line| line.split_whitespace().eq(["TracerPid:", "0"]));
        let kind = match () {
            () if pid == leader as i32 => Kind::Superpin,
            () if arguments.starts_with("superpin-collector") => Kind::Collector,
            () if traced => Kind::App,
            () if state == "R" && ticks > 1 => Kind::Slice,
            () => Kind::Waiting,
        };
        Some(Process { pid, kind })
    })
    .collect()
}

/// What superpin could leave in shared memory. Other programs of the machine have theirs there, which comes and goes.
fn shared_memory() -> BTreeSet<String> {
    let files = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("superpin")).collect()
}

fn app() -> &'static Guest {
    guest::named("loops")
}

fn native(rounds: u64) -> Outcome {
    run(&app().job(rounds)).unwrap()
}

/// What a serial run of them prints, and its total.
fn undisturbed() -> &'static (String, Option<u64>) {
    static DONE: OnceLock<(String, Option<u64>)> = OnceLock::new();
    DONE.get_or_init(|| {
        let ended = Running::start(SERIAL, LONG).end();
        (ended.stdout, parse_total(&ended.stderr))
    })
}

/// The run failed and said so; the app's own work was done to the end.
fn failed_with_the_app_finished(ended: &Ended) {
    assert_eq!(ended.status.code(), Some(125), "{}", ended.stderr);
    assert_eq!(ended.stdout.as_bytes(), native(LONG).stdout, "{}", ended.stderr);
    assert!(ended.stderr.contains("superpin"), "{}", ended.stderr);
    assert_eq!(parse_total(&ended.stderr), None);
}

/// A slice that is lost is begun again: the total is the one of an undisturbed run.
#[test]
fn a_slice_is_killed() {
    let (stdout, total) = undisturbed();
    let running = Running::start(SLICED, LONG);
    running.find(Kind::Slice).send_if_alive(libc::SIGKILL);
    sleep(Duration::from_millis(200));
    // Not a third time: on a busy machine it would perhaps be the same slice each time, which then fails.
    if let Some(slice) = running.find_another(Kind::Slice) {
        slice.send_if_alive(libc::SIGKILL);
    }
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, *stdout);
    assert_eq!(parse_total(&ended.stderr), *total, "{}", ended.stderr);
}

/// What a slice needs to be begun again, or the one before to be verified, is lost: the run goes on or says why not.
#[test]
fn a_waiting_slice_is_killed() {
    let (_, total) = undisturbed();
    for delay in [0, 30, 100] {
        let running = Running::start(SLICED, LONG);
        running.find(Kind::Slice); // only slices and their like wait from now on
        sleep(Duration::from_millis(delay));
        if let Some(waiting) = running.find_another(Kind::Waiting) {
            waiting.send_if_alive(libc::SIGKILL);
        }
        let ended = running.end();
        if ended.status.code() == Some(0) {
            assert_eq!(parse_total(&ended.stderr), *total, "{}", ended.stderr);
        } else {
            failed_with_the_app_finished(&ended);
            assert!(ended.stderr.contains("slice"), "{}", ended.stderr);
        }
    }
}

/// A slice that is killed each time it is begun ends the run, with a message.
#[test]
fn slices_are_killed_again_and_again() {
    let running = Running::start(LONG_SLICES, LONG);
    let app = running.find(Kind::App).pid;
    running.find(Kind::Slice);
    // After the failure the app goes on alone and looks like a slice.
    running.wait_until("the end of the app", || {
        for slice in running.processes().iter().filter(|p| p.kind == Kind::Slice && p.pid != app) {
            slice.send_if_alive(libc::SIGKILL);
        }
        running.processes().iter().all(|p| p.pid != app)
    });
    let ended = running.end();
    failed_with_the_app_finished(&ended);
    assert!(ended.stderr.contains("slice") && ended.stderr.contains("tried 3 times"), "{}", ended.stderr);
}

/// A slice is interrupted by the timer of its deadline, or of the watch behind its end: anywhere, also while a system call is replayed.
#[test]
fn slices_are_interrupted_all_the_time() {
    let job = guest::named("many_calls").job(150_000);
    let undisturbed = Running::start_job(SERIAL, &job).end();
    let running = Running::start_job(SLICED, &job);
    running.wait_until("the end of the run", || {
        let processes = running.processes();
        for slice in processes.iter().filter(|process| catches(process.pid, libc::SIGPROF)) {
            (0..1000).take_while(|_| slice.send_if_alive(libc::SIGPROF)).for_each(drop);
        }
        processes.is_empty()
    });
    let ended = running.end();
    assert_eq!((ended.status.code(), &ended.stdout), (Some(0), &undisturbed.stdout), "{}", ended.stderr);
    assert_eq!(parse_total(&ended.stderr), parse_total(&undisturbed.stderr), "{}", ended.stderr);
}

/// Whether a process has set a handler for a signal.
fn catches(pid: i32, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigCgt:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 != 0)
}

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
        let ended = Running::start(options, SECOND).end();
        assert_eq!((ended.status.code(), ended.stdout.as_bytes()), (Some(0), native(SECOND).stdout.as_slice()));
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
