//! What a process has set for its signals, what waits for it, and what a signal will do.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use machine::Status;

/// What a signal does to a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// Nothing that user code sees, or it stops the process for a while.
    Pass,
    /// A handler runs.
    Handler,
    /// The process dies.
    Death,
}

/// What a process has set for its signals, as bit sets (signal 1 is bit 0).
#[derive(Clone, Copy, Debug, Default)]
pub struct Dispositions {
    /// Those with handlers.
    pub caught: u64,
    /// Those that are ignored.
    pub ignored: u64,
}

impl Dispositions {
    /// What it has set now. `None` if /proc doesn't tell.
    pub fn of(pid: i32) -> Option<Self> {
        Self::told(&Status::of(pid).ok()?)
    }

    fn told(status: &Status) -> Option<Self> {
        Some(Self { caught: status.bits("SigCgt")?, ignored: status.bits("SigIgn")? })
    }
}

/// Signals that wait to be delivered to a process, as bit sets.
#[derive(Clone, Copy, Debug, Default)]
pub struct PendingSignals {
    thread: u64,
    process: u64,
}

impl PendingSignals {
    /// What waits now. `None` if /proc doesn't tell.
    pub fn of(pid: i32) -> Option<Self> {
        Self::told(&Status::of(pid).ok()?)
    }

    fn told(status: &Status) -> Option<Self> {
        Some(Self { thread: status.bits("SigPnd")?, process: status.bits("ShdPnd")? })
    }

    /// Those that wait for the process's first thread alone.
    pub fn of_thread(self) -> u64 {
        self.thread
    }

    /// All of them.
    pub fn any(self) -> u64 {
        self.thread | self.process
    }
}

/// The same of one process again and again: its file is opened once, and as much of it is read as there is of signals.
pub struct SignalStatus {
    pid: i32,
    file: RefCell<Option<File>>,
    known: Cell<Option<Known>>,
}

/// What a process has set since its last call that may have changed it.
#[derive(Clone, Copy)]
struct Known {
    dispositions: Dispositions,
    /// Signals whose handlers have run since then.
    ran: u64,
    /// Of these, those that had their handlers still: the others' may have been set for once (`SA_RESETHAND`).
    lasting: u64,
}

impl SignalStatus {
    /// Of this process.
    pub const fn new(pid: i32) -> Self {
        Self { pid, file: RefCell::new(None), known: Cell::new(None) }
    }

    /// What it has set for `signal`, and perhaps for others, now. `None` if /proc doesn't tell.
    pub fn dispositions(&self, signal: i32) -> Option<Dispositions> {
        let known = self.known.get();
        if let Some(Known { dispositions, ran, lasting }) = known
            && ran & !lasting & bit(signal) == 0
        {
            return Some(dispositions);
        }
        let dispositions = Dispositions::told(&Status::from_text(&self.read()?))?;
        let ran = known.map_or(0, |known| known.ran);
        self.known.set(Some(Known { dispositions, ran, lasting: ran & dispositions.caught }));
        Some(dispositions)
    }

    /// The handler of `signal` runs.
    pub fn handler_runs(&self, signal: i32) {
        let known = self.known.get();
        self.known.set(known.map(|known| Known { ran: known.ran | bit(signal), ..known }));
    }

    /// It may set something else or is another program, or handlers run of which nothing is told here.
    pub fn forget_dispositions(&self) {
        self.known.set(None);
    }

    /// What waits now. `None` if /proc doesn't tell.
    pub fn pending(&self) -> Option<PendingSignals> {
        PendingSignals::told(&Status::from_text(&self.read()?))
    }

    fn read(&self) -> Option<String> {
        /// More than the file has of most processes.
        const STEP: usize = 4096;
        /// The last line about signals.
        const LAST: &str = "\nSigCgt:";
        let mut file = self.file.borrow_mut();
        let file = match &mut *file {
            Some(file) => file,
            none => none.insert(File::open(format!("/proc/{}/status", self.pid)).ok()?),
        };
        let (mut text, mut len) = (Vec::new(), 0);
        loop {
            text.resize(len + STEP, 0);
            let read = file.read_at(&mut text[len..], len as u64).ok()?;
            len += read;
            text.truncate(len);
            // Names are any bytes.
            let read_so_far = String::from_utf8_lossy(&text);
            let has_all = read_so_far.find(LAST).is_some_and(|at| read_so_far[at + 1..].contains('\n'));
            if has_all || read == 0 {
                return Some(read_so_far.into_owned());
            }
        }
    }
}

const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Decides what a signal that is about to be delivered will do.
pub fn delivery(signal: i32, dispositions: Dispositions) -> Delivery {
    let bit = bit(signal);
    match signal {
        libc::SIGKILL => Delivery::Death,
        libc::SIGSTOP => Delivery::Pass,
        _ if is_dropped(signal, dispositions) => Delivery::Pass,
        _ if dispositions.caught & bit != 0 => Delivery::Handler,
        libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => Delivery::Pass,
        _ => Delivery::Death,
    }
}

/// Whether nothing at all comes of a signal that is about to be delivered: a call that it has broken off is made again.
pub fn is_dropped(signal: i32, dispositions: Dispositions) -> bool {
    let bit = bit(signal);
    let is_by_default = matches!(signal, libc::SIGCHLD | libc::SIGURG | libc::SIGWINCH | libc::SIGCONT);
    dispositions.caught & bit == 0 && (dispositions.ignored & bit != 0 || is_by_default)
}

/// Signals that instructions raise.
pub const OF_INSTRUCTIONS: [i32; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];

/// Whether the instruction at hand raised the signal, so that it can't be put off.
pub fn is_synchronous(signal: i32, code: i32) -> bool {
    OF_INSTRUCTIONS.contains(&signal) && code > 0
}

/// Kills a child that hasn't been reaped.
pub fn kill(pid: i32) {
    send(pid, libc::SIGKILL);
}

/// Sends a signal to a child that hasn't been reaped.
pub fn send(pid: i32, signal: i32) {
    // SAFETY: kill has no memory preconditions; the child hasn't been reaped, so the id is its own.
    unsafe { libc::kill(pid, signal) };
}

/// Whether it is a process that we could wait for, and that hasn't ended. Its end is still there to be waited for.
pub fn is_running_child(pid: u32) -> bool {
    // SAFETY: siginfo_t is plain data for which zero is valid.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    // SAFETY: `info` is an exclusive borrow. Nothing is taken from the queue of ends.
    let waited = unsafe { libc::waitid(libc::P_PID, pid, &raw mut info, options) };
    // SAFETY: waitid has filled it in, or left it zero.
    waited == 0 && unsafe { info.si_pid() } == 0
}

/// Waits until children that were killed have ended: what they hold, as the files of their programs, they hold no more. A second for each at most.
pub fn wait_for_killed<'a>(pids: impl IntoIterator<Item = &'a i32>) {
    const PAUSE: Duration = Duration::from_micros(50);
    const MOST: u32 = 20_000;
    for pid in pids {
        (0..MOST).take_while(|_| is_running_child(*pid as u32)).for_each(|_| std::thread::sleep(PAUSE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signals_do_what_the_process_has_set() {
        let status = "Name:\tx\nSigPnd:\t0000000000000001\nShdPnd:\t0000000000002000\nSigIgn:\t0000000000001000\n\
            SigCgt:\t0000000000000002\n";
        let status = &Status::from_text(status);
        let set = Dispositions::told(status).unwrap();
        assert_eq!(delivery(libc::SIGINT, set), Delivery::Handler);
        assert_eq!(delivery(libc::SIGPIPE, set), Delivery::Pass);
        assert_eq!(delivery(libc::SIGTERM, set), Delivery::Death);
        assert_eq!(delivery(libc::SIGCHLD, set), Delivery::Pass);
        assert_eq!(delivery(libc::SIGTSTP, set), Delivery::Pass);
        assert_eq!(delivery(libc::SIGKILL, set), Delivery::Death);
        assert!(Dispositions::told(&Status::from_text("")).is_none());
        assert_eq!(PendingSignals::told(status).map(PendingSignals::any), Some(0x2001));
    }

    #[test]
    fn what_is_told_is_of_now() {
        let status = SignalStatus::new(std::process::id() as i32);
        let bit = 1 << (libc::SIGURG - 1);
        for action in [libc::SIG_IGN, libc::SIG_DFL, libc::SIG_IGN, libc::SIG_DFL] {
            // SAFETY: nobody else in this program sets that signal's action, and both actions are none that run code.
            unsafe { libc::signal(libc::SIGURG, action) };
            status.forget_dispositions();
            assert_eq!(status.dispositions(libc::SIGURG).unwrap().ignored & bit != 0, action == libc::SIG_IGN);
        }
        assert!(status.pending().is_some());
        assert!(SignalStatus::new(0).pending().is_none());
    }

    #[test]
    fn a_handler_that_has_run_is_asked_for_once_more() {
        extern "C" fn nothing(_: i32) {}
        let bit = 1 << (libc::SIGIO - 1);
        let set = |action| {
            // SAFETY: nobody else in this program sets that signal's action; the handler does nothing.
            unsafe { libc::signal(libc::SIGIO, action) };
        };
        let status = SignalStatus::new(std::process::id() as i32);
        let caught = || status.dispositions(libc::SIGIO).unwrap().caught & bit != 0;
        set(nothing as *const () as usize);
        assert!(caught() && caught());
        status.handler_runs(libc::SIGIO);
        // As the kernel does with one that was set for once.
        set(libc::SIG_DFL);
        assert!(!caught());
        set(nothing as *const () as usize);
        status.forget_dispositions();
        assert!(caught());
        status.handler_runs(libc::SIGIO);
        assert!(caught());
        status.handler_runs(libc::SIGIO);
        set(libc::SIG_DFL);
        assert!(caught(), "it lasts until a call that sets another");
        status.forget_dispositions();
        assert!(!caught());
    }

    #[test]
    fn faults_cannot_be_put_off() {
        assert!(is_synchronous(libc::SIGSEGV, 1));
        assert!(!is_synchronous(libc::SIGSEGV, libc::SI_USER));
        assert!(!is_synchronous(libc::SIGALRM, libc::SI_KERNEL));
    }
}
