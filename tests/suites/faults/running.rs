//! A run in which something is to happen, and what becomes of it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::process::{Child, ExitStatus};
use std::sync::OnceLock;

use suites::deadline::{Guarded, wait_for, wait_until};
use suites::guest::{self, Guest};
use suites::run::{Job, Outcome, Scratch, run};
use suites::superpin::{command, parse_total};

use super::processes::{Kind, Process, group};

/// Rounds of `loops` that take about half a second natively.
pub const SHORT: u64 = 40_000;

/// Rounds for runs in which something happens before their end: some forty slices.
pub const LONG: u64 = 2 * SHORT;

/// Rounds for runs that are ended in the middle, however slowly the test itself gets on.
pub const ENDLESS: u64 = 200 * SHORT;

pub const SLICED: &[&str] = &["-sp", "1", "-spmsec", "25", "-spmp", "4"];
/// With slices that take so long that each is seen several times, even by a test that seldom gets to run.
pub const LONG_SLICES: &[&str] = &["-sp", "1", "-spmsec", "250", "-spmp", "4"];
pub const SERIAL: &[&str] = &["-sp", "0"];

/// A run under superpin that is still going on.
pub struct Running {
    pub scratch: Scratch,
    pub superpin: Child,
    pub shared_memory: BTreeSet<String>,
    _guarded: Guarded,
}

/// What became of it.
pub struct Ended {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Running {
    pub fn start(options: &[&str], rounds: u64) -> Self {
        Self::start_job(options, &app().job(rounds))
    }

    pub fn start_job(options: &[&str], job: &Job) -> Self {
        Self::start_tool(&[], options, &["-t", "icount2"].map(Into::into), job)
    }

    /// The same with a tool and its options; `before`: what starts superpin.
    pub fn start_tool(before: &[&str], options: &[&str], tool: &[OsString], job: &Job) -> Self {
        let scratch = Scratch::new().unwrap();
        let all = [before, options].map(|words| words.iter().map(OsString::from).collect::<Vec<_>>());
        let [before, options] = all;
        let prefix = [before, command(), options, tool.to_vec(), vec!["--".into()]].into_iter().flatten();
        let mut command = job.under(prefix).command(&scratch.cwd()).unwrap();
        command.stdout(File::create(scratch.beside("out")).unwrap());
        command.stderr(File::create(scratch.beside("err")).unwrap()).process_group(0);
        let shared_memory = shared_memory();
        let superpin = command.spawn().unwrap();
        let _guarded = Guarded::new(superpin.id());
        Self { scratch, superpin, shared_memory, _guarded }
    }

    pub fn processes(&self) -> Vec<Process> {
        group(self.superpin.id())
    }

    /// The first process of a kind to appear.
    pub fn find(&self, kind: Kind) -> Process {
        self.find_another(kind).unwrap_or_else(|| panic!("no {kind:?} among {:?}\n{}", self.processes(), self.told()))
    }

    /// The same, if one appears before the run ends.
    pub fn find_another(&self, kind: Kind) -> Option<Process> {
        let mut found = None;
        self.wait_until(&format!("a process that is {kind:?}"), || {
            let processes = self.processes();
            let has_ended = processes.is_empty();
            found = processes.into_iter().find(|p| p.kind == kind);
            found.is_some() || has_ended
        });
        found
    }

    pub fn wait_until(&self, what: &str, is_so: impl FnMut() -> bool) {
        wait_until(|| format!("{what}; there are {:?}\n{}", self.processes(), self.told()), is_so);
    }

    pub fn told(&self) -> String {
        fs::read_to_string(self.scratch.beside("err")).unwrap_or_default()
    }

    /// Waits for superpin and then for everything else of the run.
    pub fn end(mut self) -> Ended {
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

/// What superpin could leave in shared memory. Other programs of the machine have theirs there, which comes and goes.
pub fn shared_memory() -> BTreeSet<String> {
    let files = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = files.map(|file| file.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("superpin")).collect()
}

pub fn app() -> &'static Guest {
    guest::named("loops")
}

pub fn native(rounds: u64) -> Outcome {
    run(&app().job(rounds)).unwrap()
}

/// What a serial run of them prints, and its total.
pub fn undisturbed() -> &'static (String, Option<u64>) {
    static DONE: OnceLock<(String, Option<u64>)> = OnceLock::new();
    DONE.get_or_init(|| {
        let ended = Running::start(SERIAL, LONG).end();
        (ended.stdout, parse_total(&ended.stderr))
    })
}

/// The run failed and said so; the app's own work was done to the end.
pub fn failed_with_the_app_finished(ended: &Ended) {
    assert_eq!(ended.status.code(), Some(125), "{}", ended.stderr);
    assert_eq!(ended.stdout.as_bytes(), native(LONG).stdout, "{}", ended.stderr);
    assert!(ended.stderr.contains("superpin"), "{}", ended.stderr);
    assert_eq!(parse_total(&ended.stderr), None);
}
