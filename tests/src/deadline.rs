//! Each test has a deadline: one that is over says what it waited for, and leaves nothing running.
//!
//! What a test may take grows with the machine's load, which is looked at again and again: a busy machine is no failure.
//! All that waits in a test waits here: for a process ([`wait_for`]), for something to become so ([`wait_until`]), or in a system call that only the end of
//! the process it is about can end ([`Watch`]).

use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What a test may take on a machine that does nothing else: ten times what the longest one takes.
const USUAL: Duration = Duration::from_secs(180);

/// And on the busiest one.
const LONGEST: Duration = Duration::from_secs(1200);

/// How often it is looked at the load.
const LOOK: Duration = Duration::from_millis(500);

thread_local! {
    /// When this thread's test began.
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// The test of this thread begins now.
pub fn begin() {
    BEGAN.set(Some(Instant::now()));
}

/// When it began: at the first look where nobody has said so, since each test of the standard harness has a thread of its own. Where it hasn't (one at a
/// time is to run, on the first thread), each wait has the whole time.
fn began() -> Instant {
    let now = Instant::now();
    // SAFETY: gettid and getpid have no preconditions.
    let is_first_thread = unsafe { libc::gettid() == libc::getpid() };
    BEGAN.get().unwrap_or_else(|| {
        BEGAN.set(Some(now).filter(|_| !is_first_thread));
        now
    })
}

/// A duration on a machine that does nothing else, on this one.
pub fn stretched(idle: Duration) -> Duration {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = text.split_whitespace().take(2).filter_map(|load| load.parse::<f64>().ok()).fold(0.0, f64::max);
    let processors = thread::available_parallelism().map_or(1, usize::from) as f64;
    idle.mul_f64((load / processors).max(1.0))
}

/// A wait that was begun, and how long it may last.
struct Wait {
    test: Instant,
    since: Instant,
    /// The longest that was allowed so far: a load that falls again takes nothing back.
    limit: Duration,
    /// Whether the limit is the caller's own.
    is_fixed: bool,
}

impl Wait {
    fn begin() -> Self {
        Self { test: began(), since: Instant::now(), limit: USUAL, is_fixed: false }
    }

    fn of(limit: Duration) -> Self {
        let now = Instant::now();
        Self { test: now, since: now, limit, is_fixed: true }
    }

    fn is_over(&mut self) -> bool {
        if !self.is_fixed {
            self.limit = self.limit.max(stretched(USUAL)).min(LONGEST);
        }
        self.test.elapsed() >= self.limit
    }

    /// Until the next look.
    fn step(&self) -> Duration {
        LOOK.min(self.limit.saturating_sub(self.test.elapsed()))
    }

    fn told(&self, what: &str) -> String {
        let (waited, limit) = (self.since.elapsed().as_secs_f32(), self.limit.as_secs());
        format!("the test's deadline of {limit} s is over; for the last {waited:.1} s it waited for {what}")
    }
}

/// Waits for a child; one that doesn't end by the test's deadline is killed with all its processes, and is an error that tells of them.
pub fn wait_for(child: &mut Child) -> io::Result<ExitStatus> {
    let mut wait = Wait::begin();
    if !ends(child.id(), &mut wait)? {
        let processes = end_all(child)?;
        return Err(io::Error::new(io::ErrorKind::TimedOut, wait.told(&format!("the end of\n{processes}"))));
    }
    child.wait()
}

/// The same with a limit of its own, after which there is no status.
pub fn wait_at_most(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    if ends(child.id(), &mut Wait::of(limit))? {
        return child.wait().map(Some);
    }
    end_all(child)?;
    Ok(None)
}

/// Runs a command, with nothing to read and in a process group of its own, to its end.
pub fn output(command: &mut Command) -> io::Result<Output> {
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.process_group(0).spawn()?;
    let (stdout, stderr) = (child.stdout.take().map(read_all), child.stderr.take().map(read_all));
    let status = wait_for(&mut child)?;
    let mut wait = Wait::begin();
    let mut all = |from: Option<mpsc::Receiver<Vec<u8>>>| {
        let Some(from) = from else { return Ok(Vec::new()) };
        loop {
            match from.recv_timeout(wait.step()) {
                Ok(bytes) => return Ok(bytes),
                Err(_) if !wait.is_over() => {}
                Err(_) => {
                    let what = format!("the end of the output of {command:?}, which has ended");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, wait.told(&what)));
                }
            }
        }
    };
    Ok(Output { status, stdout: all(stdout)?, stderr: all(stderr)? })
}

/// What comes from a pipe until its end.
fn read_all(mut from: impl io::Read + Send + 'static) -> mpsc::Receiver<Vec<u8>> {
    let (send, all) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        let _ = send.send(bytes);
    });
    all
}

/// Waits for something to become so.
///
/// # Panics
///
/// At the test's deadline, with what it was.
pub fn wait_until(what: impl Fn() -> String, mut is_so: impl FnMut() -> bool) {
    let mut wait = Wait::begin();
    while !is_so() {
        assert!(!wait.is_over(), "{}", wait.told(&what()));
        thread::sleep(Duration::from_millis(2));
    }
}

/// A child that is killed if this lives longer than the test may: for waits that nothing else can end.
pub struct Watch {
    done: Option<mpsc::Sender<()>>,
    watcher: Option<JoinHandle<Option<String>>>,
}

impl Watch {
    /// Begins to watch over a process that is this thread's to kill.
    pub fn over(pid: u32) -> Self {
        let (done, is_done) = mpsc::channel::<()>();
        let mut wait = Wait::begin();
        let watcher = thread::spawn(move || {
            loop {
                match is_done.recv_timeout(wait.step().max(Duration::from_millis(1))) {
                    Err(RecvTimeoutError::Timeout) if wait.is_over() => break,
                    Err(RecvTimeoutError::Timeout) => {}
                    _ => return None,
                }
            }
            let processes = family(pid);
            let told = wait.told(&format!("the end of\n{}", describe(&processes)));
            kill(&processes);
            Some(told)
        });
        Self { done: Some(done), watcher: Some(watcher) }
    }

    /// Ends the watch. What has happened if the process was killed.
    pub fn end(mut self) -> Option<String> {
        self.stop()
    }

    fn stop(&mut self) -> Option<String> {
        drop(self.done.take());
        self.watcher.take()?.join().ok()?
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Whether a child that isn't reaped yet ends before the wait is over.
fn ends(pid: u32, wait: &mut Wait) -> io::Result<bool> {
    // SAFETY: pidfd_open takes two integers and gives a new descriptor.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid as libc::pid_t, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and has no other owner.
    let file = unsafe { File::from_raw_fd(fd as i32) };
    loop {
        let mut poll = libc::pollfd { fd: file.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one pollfd is passed and it lives through the call.
        let ready = unsafe { libc::poll(&mut poll, 1, wait.step().as_millis() as i32) };
        match ready {
            1 => return Ok(true),
            0 if wait.is_over() => return Ok(false),
            0 => {}
            _ => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
        }
    }
}

/// Kills a child and what it has started, and tells what they were at.
fn end_all(child: &mut Child) -> io::Result<String> {
    let processes = family(child.id());
    let told = describe(&processes);
    kill(&processes);
    child.wait()?;
    Ok(told)
}

/// A process, the members of its group, and what any of them has started.
pub(crate) fn family(leader: u32) -> BTreeSet<u32> {
    let numbers = |pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(1);
        Some((pid, fields.next()?.parse::<u32>().ok()?, fields.next()?.parse::<u32>().ok()?))
    };
    let listed = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = listed.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let all: Vec<(u32, u32, u32)> = pids.filter_map(numbers).collect();
    let mut family: BTreeSet<u32> = all.iter().filter(|(_, _, group)| *group == leader).map(|(pid, ..)| *pid).collect();
    family.insert(leader);
    loop {
        let children = all.iter().filter(|(_, parent, _)| family.contains(parent)).map(|(pid, ..)| *pid);
        let grown: BTreeSet<u32> = children.chain(family.iter().copied()).collect();
        if grown.len() == family.len() {
            return family;
        }
        family = grown;
    }
}

pub(crate) fn kill(processes: &BTreeSet<u32>) {
    for pid in processes {
        // SAFETY: kill reads no memory; they are a child of this process, not reaped yet, and its descendants.
        unsafe { libc::kill(*pid as i32, libc::SIGKILL) };
    }
}

/// A line for each process: its arguments, and where it is.
pub(crate) fn describe(processes: &BTreeSet<u32>) -> String {
    let mut text = String::new();
    for pid in processes {
        let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let line = |name: &str| String::from_utf8_lossy(&read(name)).trim().to_owned();
        let arguments = line("cmdline").replace('\0', " ");
        let status = line("status");
        let field = |key: &str| status.lines().find_map(|l| l.strip_prefix(key)).unwrap_or_default().trim().to_owned();
        let _ = writeln!(
            text,
            "  {pid} `{}`: {}, traced by {}, wchan {}, system call {}",
            arguments.chars().take(300).collect::<String>(),
            field("State:"),
            field("TracerPid:"),
            line("wchan"),
            line("syscall"),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_end_is_killed_and_told() {
        let mut child =
            Command::new("/bin/sh").args(["-c", "sleep 1000 & sleep 1000"]).process_group(0).spawn().unwrap();
        let id = child.id();
        let mut wait = Wait::of(Duration::from_millis(200));
        wait_until(|| "two sleeps".to_owned(), || family(id).len() == 3);
        assert!(!ends(id, &mut wait).unwrap());
        let told = end_all(&mut child).unwrap();
        assert_eq!((told.matches("`sleep 1000 `").count(), told.matches("/sh -c").count()), (2, 1), "{told}");
        wait_until(|| "the ends".to_owned(), || !describe(&family(id)).contains("sleep"));
    }

    #[test]
    fn a_watch_ends_what_it_watches() {
        BEGAN.set(Instant::now().checked_sub(LONGEST));
        let mut child = Command::new("/bin/sleep").arg("1000").spawn().unwrap();
        let watch = Watch::over(child.id());
        assert!(!child.wait().unwrap().success());
        assert!(watch.end().unwrap().contains("/bin/sleep 1000"));
    }

    #[test]
    fn a_watch_leaves_alone_what_ends_in_time() {
        let mut child = Command::new("/bin/true").spawn().unwrap();
        let watch = Watch::over(child.id());
        assert!(child.wait().unwrap().success());
        assert_eq!(watch.end(), None);
    }

    #[test]
    fn output_is_all_that_was_written() {
        let output = output(Command::new("/bin/sh").args(["-c", "echo out; echo err >&2; exit 3"])).unwrap();
        assert_eq!(
            (output.status.code(), &output.stdout[..], &output.stderr[..]),
            (Some(3), &b"out\n"[..], &b"err\n"[..])
        );
    }

    #[test]
    fn a_busy_machine_has_more_time() {
        assert!(stretched(USUAL) >= USUAL);
        let mut wait = Wait::begin();
        wait.test = Instant::now().checked_sub(LONGEST).unwrap();
        assert!(wait.is_over());
    }
}
