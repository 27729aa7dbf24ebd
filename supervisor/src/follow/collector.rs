//! The collector process, as the control process sees it: commands out, answers in, never waited for anywhere but in
//! [`crate::events`].
//!
//! Commands are lines on its standard input: `hello`, `fold SLOT SLICE LEN`, `before SLOT`, `routine` with how one is called, `fini WORTH STATUS[, HEADING]` (the status is minus the signal, if one has killed the app); each is answered by one
//! line, `ok` (of a fold with when it began and ended), `error TEXT` or `printed TEXT`, in order.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use bubble::boot::COLLECTOR;
use tracee::ExitStatus;

use crate::base::{Doing, Failure, Moment, affinity};
use crate::events::{PIPE_SIGNAL, block_all};
use crate::report::{Merged, Statistics, Worth};
use crate::run_memory::{ClaimedSlot, RunMemory};

/// What an answer will be about.
enum Asked {
    Hello,
    Routine,
    /// A slice's result.
    Fold(u64, ClaimedSlot),
    Before,
    Fini,
}

/// The collector process.
pub struct Collector {
    child: Child,
    input: Option<ChildStdin>,
    output: ChildStdout,
    /// Bytes of an answer that isn't complete.
    partial: Vec<u8>,
    asked: VecDeque<Asked>,
    /// Finished slices that wait for one before them.
    early: BTreeMap<u64, ClaimedSlot>,
    next: u64,
    /// Slices of which it has said what was counted before, since somebody last asked.
    put_together: usize,
    finished: bool,
}

impl Collector {
    /// Starts it. `needs_stdout`: this process's standard output is where its own leads.
    ///
    /// # Errors
    /// If the process can't be started.
    pub fn start(memory: &RunMemory, needs_stdout: bool) -> Result<Self, Failure> {
        // It inherits where it may run, and whether it may read the clock.
        affinity::leave();
        let fd = memory.file().as_raw_fd();
        let stdout = needs_stdout.then(|| io::stdout().as_fd().try_clone_to_owned()).transpose();
        let stdout = stdout.doing("pass the standard output on")?;
        let kept = [Some(fd), stdout.as_ref().map(AsRawFd::as_raw_fd)];
        let mut command = Command::new("/proc/self/exe");
        command.arg0(COLLECTOR).arg(kept[1].unwrap_or(libc::STDERR_FILENO).to_string()).arg(fd.to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        // SAFETY: the closure makes a few system calls that are safe after a fork, on values of its own.
        unsafe { command.pre_exec(move || kept.into_iter().flatten().try_for_each(keep).and_then(|()| prepare())) };
        let mut child = command.spawn().doing("start the collector")?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or_else(|| Failure::Collector("it has no output".into()))?;
        announce_by_signal(output.as_raw_fd()).doing("watch the collector's answers")?;
        let mut collector = Self {
            child,
            input,
            output,
            partial: Vec::new(),
            asked: VecDeque::new(),
            early: BTreeMap::new(),
            next: 0,
            put_together: 0,
            finished: false,
        };
        collector.ask("hello\n", Asked::Hello)?;
        Ok(collector)
    }

    /// Its process id.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Hands over a finished slice's result. Results are folded in the order of slices, from 0 on without gaps.
    ///
    /// # Errors
    /// If the collector has died.
    pub fn hand_over(&mut self, slice: u64, slot: ClaimedSlot, statistics: &mut Statistics) -> Result<(), Failure> {
        self.early.insert(slice, slot);
        statistics.wait_for_merge(self.early.len() + self.folds());
        while let Some(slot) = self.early.remove(&self.next) {
            let line = format!("fold {} {} {}\n", slot.index(), self.next, slot.result_len());
            self.ask(&line, Asked::Fold(self.next, slot))?;
            self.next += 1;
        }
        Ok(())
    }

    /// Slices whose results are a part of the total.
    pub fn merged(&self) -> u64 {
        self.next - self.folds() as u64
    }

    /// Results that were handed over to it, and aren't known to be folded.
    fn folds(&self) -> usize {
        self.asked.iter().filter(|asked| matches!(asked, Asked::Fold(..))).count()
    }

    /// Slices behind this one don't matter: gives their slots back. How many there were.
    pub fn discard_behind(&mut self, last: u64, memory: &mut RunMemory) -> u64 {
        let behind = self.early.split_off(&(last + 1));
        let discarded = behind.len() as u64;
        behind.into_values().for_each(|slot| memory.release(slot));
        discarded
    }

    /// The next slice has counted, in its first pass: what this slot has is put together with what was counted before, which comes in its place.
    ///
    /// # Errors
    /// If the collector has died.
    pub fn put_together(&mut self, slot: usize) -> Result<(), Failure> {
        self.ask(&format!("before {slot}\n"), Asked::Before)
    }

    /// Of how many slices that was done since this was last asked.
    pub fn take_put_together(&mut self) -> usize {
        std::mem::take(&mut self.put_together)
    }

    /// Whether it has answered everything that it was asked.
    pub fn is_idle(&self) -> bool {
        self.asked.is_empty() && self.early.is_empty()
    }

    /// Asks for the end: the total is printed, with what it is worth, under a heading if there is one. `exit`: how the app has ended.
    ///
    /// # Errors
    /// If the collector has died.
    pub fn fini(&mut self, worth: Worth, exit: ExitStatus, heading: Option<&str>) -> Result<(), Failure> {
        let heading = heading.map(|heading| format!(", {heading}")).unwrap_or_default();
        let status = match exit {
            ExitStatus::Code(code) => code,
            ExitStatus::Signal(signal) => -signal,
        };
        let line = format!("fini {worth} {status}{heading}\n");
        self.ask(&line, Asked::Fini)
    }

    /// Tells how a routine of the tool's was called, to be told with the result.
    ///
    /// # Errors
    /// If the collector has died.
    pub fn tell_routine(&mut self, line: &str) -> Result<(), Failure> {
        self.ask(&format!("routine {line}\n"), Asked::Routine)
    }

    /// Whether the total was printed.
    pub fn is_finished(&self) -> bool {
        self.finished
    }

    /// Takes the answers that have arrived; slots that were folded become free.
    ///
    /// # Errors
    /// If an answer is an error.
    pub fn take_answers(&mut self, memory: &mut RunMemory, statistics: &mut Statistics) -> Result<(), Failure> {
        let mut buffer = [0; 4096];
        loop {
            match self.output.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => self.partial.extend_from_slice(&buffer[..n]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::Collector(format!("its answer can't be read: {error}"))),
            }
        }
        while let Some(end) = self.partial.iter().position(|&b| b == b'\n') {
            let line: Vec<u8> = self.partial.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line[..end]).into_owned();
            self.answer(&line, memory, statistics).inspect_err(|_| memory.lose_streams())?;
        }
        Ok(())
    }

    fn answer(&mut self, line: &str, memory: &mut RunMemory, statistics: &mut Statistics) -> Result<(), Failure> {
        if let Some(text) = line.strip_prefix("printed ") {
            return Err(Failure::Printed(text.to_owned()));
        }
        let mut words = line.split(' ');
        if words.next() != Some("ok") {
            return Err(Failure::Collector(line.strip_prefix("error ").unwrap_or(line).to_owned()));
        }
        match self.asked.pop_front() {
            Some(Asked::Fold(slice, slot)) => {
                let mut time = || words.next()?.parse().ok().map(Moment::at_nanoseconds);
                let (Some(from), Some(until)) = (time(), time()) else {
                    return Err(Failure::Collector(format!("it doesn't say when it has folded: {line}")));
                };
                statistics.merged(Merged { slice, from, until });
                memory.release(slot);
            }
            Some(Asked::Hello | Asked::Routine) => {}
            Some(Asked::Before) => self.put_together += 1,
            Some(Asked::Fini) => self.finished = true,
            None => return Err(Failure::Collector("it answers what it wasn't asked".into())),
        }
        Ok(())
    }

    /// Its process has ended.
    ///
    /// # Errors
    /// If it wasn't to end yet.
    pub fn ended(
        &mut self,
        exit: ExitStatus,
        memory: &mut RunMemory,
        statistics: &mut Statistics,
    ) -> Result<(), Failure> {
        self.take_answers(memory, statistics)?;
        if self.finished && exit == ExitStatus::Code(0) {
            Ok(())
        } else {
            // Whoever waits for a name, or to write, waits no longer.
            memory.lose_streams();
            memory.files()?.app_images().close();
            Err(Failure::Collector(format!("it ended before its work was done ({exit})")))
        }
    }

    fn ask(&mut self, line: &str, asked: Asked) -> Result<(), Failure> {
        let input = self.input.as_mut().ok_or_else(|| Failure::Collector("it has no input".into()))?;
        input
            .write_all(line.as_bytes())
            .map_err(|error| Failure::Collector(format!("it takes no commands: {error}")))?;
        self.asked.push_back(asked);
        Ok(())
    }
}

/// Runs in the collector before its program is loaded: it keeps a descriptor.
fn keep(fd: i32) -> io::Result<()> {
    // SAFETY: a plain system call.
    if unsafe { libc::fcntl(fd, libc::F_SETFD, 0) } == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Runs there as well: it doesn't outlive superpin, and leaves signals to the app and to superpin.
fn prepare() -> io::Result<()> {
    block_all()?;
    // SAFETY: plain system calls on valid values.
    let results = unsafe {
        [
            // Where it was closed it leads nowhere, see `inherited`.
            libc::fcntl(libc::STDERR_FILENO, libc::F_SETFD, 0),
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL),
        ]
    };
    if results.contains(&-1) { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Which signal O_ASYNC sends (asm-generic/fcntl.h; libc doesn't name it on every target).
const F_SETSIG: i32 = 10;

/// Makes the kernel send a signal when `fd` can be read, and reading never wait.
fn announce_by_signal(fd: i32) -> io::Result<()> {
    // SAFETY: plain system calls on a descriptor of ours.
    let results = unsafe {
        [
            libc::fcntl(fd, F_SETSIG, PIPE_SIGNAL),
            libc::fcntl(fd, libc::F_SETOWN, libc::getpid()),
            libc::fcntl(fd, libc::F_SETFL, libc::O_ASYNC | libc::O_NONBLOCK),
        ]
    };
    if results.contains(&-1) { Err(io::Error::last_os_error()) } else { Ok(()) }
}
