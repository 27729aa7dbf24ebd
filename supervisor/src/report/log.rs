//! Writes down what a run tells those who work on superpin: events of this process, and those of the run's processes, by time.
//!
//! ```text
//!   sliced::log, serial ── tell ──┐
//!   CONTROL of each process ── collect ──► waiting, by time ──► FILE, or standard error
//! ```
//! A line is: seconds since the run's start, who, what it is about, and the rest; lines that belong to it are indented.
//! `who` is `control`, `slice:N` or `serial`, behind the number of its process if that was started by the app.
//! What is read late is told late: so lines wait for a moment before they are written, and are sorted by then.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bubble::events::{Event, EventKind, Reader, SERIAL, now};
use bubble::map::IMAGE;

use crate::base::{Failure, above_standard};
use crate::command::{Addresses, LogTarget, Watch, is_stderr};

/// How often the processes' events are collected.
const COLLECTED_EACH: Duration = Duration::from_millis(50);
/// How long a line waits for earlier ones.
const WAITS: u64 = 500_000_000;

static WANTED: AtomicU32 = AtomicU32::new(0);

thread_local! {
    // This process has one thread.
    static LOG: RefCell<Option<Log>> = const { RefCell::new(None) };
    static WATCHED: Cell<Addresses> = const { Cell::new(Addresses { kinds: 0, dump: None, stops: None, stops_at: None }) };
}

/// What all processes of the run are to tell.
pub fn watch(addresses: Addresses) {
    WATCHED.set(addresses);
}

/// What [`watch`] was told; nothing before that.
pub fn watched() -> Addresses {
    WATCHED.get()
}

struct Log {
    path: PathBuf,
    /// Standard error, if there is none.
    file: Option<File>,
    started: u64,
    runs: Vec<Run>,
    waiting: Vec<(u64, String)>,
    /// Why something couldn't be written.
    failed: Option<io::Error>,
}

/// A process that is followed.
struct Run {
    /// Its number, if it was started by the app.
    process: Option<i32>,
    reader: Reader,
    /// The mapping that the reader reads.
    _mapping: Box<dyn Any>,
}

/// Begins, if anything is asked for. The file is there from now on: what was told before superpin itself fails is not to be lost.
///
/// # Errors
/// If the file can't be written.
pub fn open(watch: &Watch) -> Result<(), Failure> {
    if *watch == Watch::default() {
        return Ok(());
    }
    let kinds = watch.log.as_ref().map_or(0, |log| log.kinds);
    let path = watch.log.as_ref().map_or_else(|| PathBuf::from("-"), |LogTarget { path, .. }| path.clone());
    let file = if is_stderr(&path) { None } else { Some(create(&path)?) };
    let log = Log { path, file, started: now(), runs: Vec::new(), waiting: Vec::new(), failed: None };
    LOG.with_borrow_mut(|at| *at = Some(log));
    WANTED.store(kinds, Ordering::Relaxed);
    Ok(())
}

fn create(path: &Path) -> Result<File, Failure> {
    let made = File::create(path).and_then(|file| above_standard(&file));
    made.map_err(|source| Failure::Log { path: path.into(), source })
}

/// From now on the events of a process that is followed are collected. `mapping`: what the reader reads.
pub fn follow(reader: Reader, mapping: Box<dyn Any>, process: Option<i32>) {
    LOG.with_borrow_mut(|log| {
        if let Some(log) = log {
            log.runs.push(Run { process, reader, _mapping: mapping });
        }
    });
}

/// Whether anything is to be collected.
pub fn is_open() -> bool {
    LOG.with_borrow(Option::is_some)
}

/// After which time [`collect`] is to be called again at the latest.
pub fn look_again() -> Option<Duration> {
    is_open().then_some(COLLECTED_EACH)
}

/// Whether events of this kind are wanted from this process.
pub fn wants(kind: EventKind) -> bool {
    WANTED.load(Ordering::Relaxed) & kind.bit() != 0
}

/// Tells of an event of this process, about a slice if it is about one.
pub fn tell(kind: EventKind, slice: Option<u64>, text: fmt::Arguments<'_>) {
    if !wants(kind) {
        return;
    }
    let about = slice.map_or(String::new(), |slice| format!("slice {slice}: "));
    LOG.with_borrow_mut(|log| {
        if let Some(log) = log {
            log.add(now(), "control", kind, &format!("{about}{text}"));
        }
    });
}

/// Takes what the processes have told since the last call.
pub fn collect() {
    LOG.with_borrow_mut(|log| {
        if let Some(log) = log {
            log.collect();
            log.write_until(now().saturating_sub(WAITS));
        }
    });
}

/// The end: writes what is left.
///
/// # Errors
/// If something couldn't be written.
pub fn close() -> Result<(), Failure> {
    WANTED.store(0, Ordering::Relaxed);
    let Some(mut log) = LOG.with_borrow_mut(Option::take) else { return Ok(()) };
    log.collect();
    log.write_until(u64::MAX);
    match log.failed {
        None => Ok(()),
        Some(source) => Err(Failure::Log { path: log.path, source }),
    }
}

impl Log {
    fn add(&mut self, at: u64, who: &str, kind: EventKind, text: &str) {
        let since = at.saturating_sub(self.started) / 1000;
        let mut line = format!("{}.{:06} {who} {} ", since / 1_000_000, since % 1_000_000, kind.word());
        for (n, part) in text.trim_end().split('\n').enumerate() {
            line += if n == 0 { "" } else { "\n  " };
            line += part;
        }
        line.push('\n');
        self.waiting.push((at, line));
    }

    fn collect(&mut self) {
        let mut runs = std::mem::take(&mut self.runs);
        for Run { process, reader, .. } in &mut runs {
            let of = process.map_or(String::new(), |process| format!("{process}/"));
            // SAFETY: kill with no signal only asks.
            let is_gone = |process| unsafe { libc::kill(process, 0) } != 0;
            reader.take(is_gone, |Event { kind, at, process, slice, text }| {
                let who = if slice == SERIAL { format!("{of}serial") } else { format!("{of}slice:{slice}") };
                match kind {
                    EventKind::Stop => tell!("superpin: {}", waits(slice, process, &text)),
                    kind => self.add(at, &who, kind, &text),
                }
            });
            let lost = reader.take_lost();
            if lost > 0 {
                self.add(
                    now(),
                    "control",
                    EventKind::Boundary,
                    &format!("{lost} events were lost: there was no room for them"),
                );
            }
        }
        self.runs = runs;
    }

    /// Writes the lines of events before this time.
    fn write_until(&mut self, time: u64) {
        self.waiting.sort_by_key(|(at, _)| *at);
        let late = self.waiting.partition_point(|(at, _)| *at < time);
        let text: String = self.waiting.drain(..late).map(|(_, line)| line).collect();
        if text.is_empty() || self.failed.is_some() {
            return;
        }
        let written = match &mut self.file {
            Some(file) => file.write_all(text.as_bytes()),
            None => io::stderr().write_all(text.as_bytes()),
        };
        self.failed = written.err();
    }
}

/// What somebody needs who wants to look at a slice that waits.
fn waits(slice: u64, process: i32, text: &str) -> String {
    let image = std::env::current_exe().map_or_else(|_| "superpin".into(), |path| path.display().to_string());
    let (place, registers) = text.split_once('\n').unwrap_or((text, ""));
    format!(
        "slice {slice} waits before the instruction at {place}, as process {process}\n{registers}\n  \
         look at it:     gdb -p {process} -ex 'add-symbol-file {image} -o {:#x}'     (or scripts/gdb.sh {process})\n  \
         let it go on:   kill -CONT {process}",
        IMAGE.start
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_by_time_and_wait_for_earlier_ones() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let file = Some(create(&path).unwrap());
        let (runs, waiting) = (Vec::new(), Vec::new());
        let mut log = Log { path: path.clone(), file, started: 1_000_000, runs, waiting, failed: None };
        log.add(5_000_000_000, "slice:1", EventKind::Link, "later");
        log.add(3_501_000, "serial", EventKind::Trace, "of it\n mov\n");
        log.write_until(4_000_000);
        let written = || std::fs::read_to_string(&path).unwrap();
        assert_eq!(written(), "0.002501 serial trace of it\n   mov\n");
        log.add(4_000_000_000, "control", EventKind::Boundary, "earlier");
        log.write_until(u64::MAX);
        assert!(written().ends_with("\n3.999000 control boundary earlier\n4.999000 slice:1 link later\n"));
    }

    #[test]
    fn a_slice_that_waits_says_how_to_look_at_it() {
        let text = waits(3, 77, "0x401000\n  rax=0x1\n  rflags=0x202");
        assert!(
            text.starts_with("slice 3 waits before the instruction at 0x401000, as process 77\n  rax=0x1"),
            "{text}"
        );
        assert!(text.contains("gdb -p 77 -ex 'add-symbol-file /") && text.contains("-o 0x5554e0000000'"), "{text}");
    }
}
