//! What slices write in order, when something happens meanwhile.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use suites::run::Job;

use super::processes::Kind;
use super::running::{Running, SERIAL, app};

/// Rounds of `loops` that make two hundred megabytes of trace.
const ROUNDS: u64 = 100;
/// Some of these are seen while they run.
const SLICES: &[&str] = &["-sp", "1", "-spmsec", "1"];

fn job() -> Job {
    app().job(ROUNDS)
}

/// A run that writes what was executed to a file.
fn start(options: &[&str], before: &[&str], to: &Path) -> Running {
    let tool = ["-env".into(), "clean".into(), "-t".into(), "itrace".into(), "-o".into(), OsString::from(to)];
    Running::start_tool(before, options, &tool, &job())
}

fn native() -> String {
    String::from_utf8(suites::run::run(&job()).unwrap().stdout).unwrap()
}

fn names(folder: &Path) -> Vec<OsString> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect()
}

/// Whether a process has a file in a folder open, with a name or without.
fn has_open(pid: i32, folder: &Path) -> bool {
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
    descriptors.filter_map(|fd| fs::read_link(fd.path()).ok()).any(|file| file.starts_with(folder))
}

/// What a slice wrote that is begun again is there once.
#[test]
fn a_slice_that_writes_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let [serial, sliced] = ["serial", "sliced"].map(|name| folder.path().join(name));
    assert_eq!(start(SERIAL, &[], &serial).end().status.code(), Some(0));
    let running = start(SLICES, &[], &sliced);
    if let Some(slice) = running.find_another(Kind::Slice) {
        slice.send_if_alive(libc::SIGKILL);
    }
    let ended = running.end();
    assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
    assert_eq!(ended.stdout, native());
    let [expected, got] = [serial, sliced].map(|path| fs::read(path).unwrap());
    assert!(expected.len() > 10_000_000, "{} bytes", expected.len());
    let differs = expected.iter().zip(&got).position(|(one, other)| one != other);
    assert!(expected == got, "{} bytes, {} serially, from {differs:?} on", got.len(), expected.len());
    assert_eq!(names(folder.path()).len(), 2);
}

/// A pipe gets what a file would have: serially at once, without a file anywhere.
#[test]
fn a_pipe_is_written_as_the_run_goes() {
    let folder = tempfile::tempdir().unwrap();
    let [file, pipe] = ["file", "pipe"].map(|name| folder.path().join(name));
    assert_eq!(start(SERIAL, &[], &file).end().status.code(), Some(0));
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
    for (options, before) in [(SERIAL, &["env", "TMPDIR=/dev/null/none"][..]), (SLICES, &[])] {
        let from = pipe.clone();
        let reader = std::thread::spawn(move || fs::read(from).unwrap());
        let ended = start(options, before, &pipe).end();
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        let got = reader.join().unwrap();
        assert!(got == fs::read(&file).unwrap(), "{} bytes came", got.len());
        assert_eq!(names(folder.path()).len(), 2);
        // The reader goes away.
        let from = pipe.clone();
        let reader = std::thread::spawn(move || File::open(from).unwrap().read_exact(&mut [0; 1000]).unwrap());
        let ended = start(options, before, &pipe).end();
        reader.join().unwrap();
        assert_eq!(ended.status.code(), Some(125), "{}", ended.stderr);
        assert!(ended.stderr.contains("cannot write the stream"), "{}", ended.stderr);
        assert_eq!(ended.stdout, native());
    }
}

/// Nothing is left of a run whose control process was killed, and what had the name before has it still.
#[test]
fn all_ends_with_the_control_process() {
    for options in [SLICES, SERIAL] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        fs::write(&path, "yesterday's").unwrap();
        let running = start(options, &[], &path);
        let collector = running.find(Kind::Collector);
        running.wait_until("something written", || has_open(collector.pid, folder.path()));
        running.find(Kind::Superpin).send(libc::SIGKILL);
        assert_eq!(running.end().status.code(), None);
        assert_eq!(names(folder.path()), ["trace"]);
        assert_eq!(fs::read_to_string(&path).unwrap(), "yesterday's");
    }
}

/// A run that fails leaves nothing, and the app goes on to its end: it doesn't wait for who would take what is written.
#[test]
fn a_run_that_writes_fails() {
    for options in [SLICES, SERIAL] {
        let folder = tempfile::tempdir().unwrap();
        let running = start(options, &[], &folder.path().join("trace"));
        let collector = running.find(Kind::Collector);
        running.wait_until("something written", || has_open(collector.pid, folder.path()));
        collector.send(libc::SIGKILL);
        let ended = running.end();
        assert_eq!(ended.status.code(), Some(125), "{}", ended.stderr);
        assert!(ended.stderr.contains("collector"), "{}", ended.stderr);
        assert_eq!(ended.stdout, native());
        assert_eq!(names(folder.path()), [""; 0]);
        // What comes in order can't be written, or what waits for its turn.
        for before in [&[][..], &["env", "TMPDIR=/dev/null/none"][..]] {
            let ended = start(options, before, Path::new("/dev/full")).end();
            assert_eq!(ended.status.code(), Some(125), "{before:?}: {}", ended.stderr);
            assert!(ended.stderr.contains("cannot write the stream"), "{before:?}: {}", ended.stderr);
            assert_eq!(ended.stdout, native());
        }
    }
}
