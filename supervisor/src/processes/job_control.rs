//! Job control: who has started superpin, a shell perhaps, watches superpin. So when the app has stopped, superpin stops as well, by the same signal; and
//! when superpin is continued, the app is.
//!
//! A terminal's signals reach both. superpin leaves them to the app, which may have handlers: only once the app has really stopped does superpin.
//!
//! A stopped process can't look after the processes that it traces. But somebody may continue the app alone, or kill it; or another followed process comes to
//! where superpin has something to do. So as long as superpin is stopped a *waker* looks at them every few milliseconds, and continues superpin when there
//! is something. The waker is a fork of superpin, since nothing that happens to another process would continue superpin.

use std::time::Duration;

use crate::app::PendingSignals;
use crate::base::{Moment, status_line};
use crate::events::{is_pending, let_through, sender, set_default};
use crate::follow::JobStop;

/// For so long the others are waited for, which are about to stop as well.
const FOR_OTHERS: Duration = Duration::from_millis(200);
/// How often the waker looks.
const LOOKS: Duration = Duration::from_millis(20);

/// A process that is followed.
pub struct Followed {
    /// Its number.
    pub pid: i32,
    /// Whether it has stopped by a stopping signal.
    pub is_stopped: bool,
}

/// What superpin does about the app's stops.
#[derive(Default)]
pub struct Job {
    stage: Stage,
    /// The last waker's number.
    waker: i32,
}

/// What of a stop is done.
#[derive(Default)]
enum Stage {
    /// The app goes on.
    #[default]
    Runs,
    /// It has stopped, others have not.
    WaitsForOthers(Moment),
    /// superpin has been stopped for this one, and continued since. The app may not have told yet that it was, too.
    Followed(JobStop),
}

impl Job {
    /// The app is in this stop, if it is in one. Stops superpin, if it is time for that; otherwise gives the time after which it is to
    /// be asked again.
    pub fn is_now(&mut self, app: i32, stop: Option<JobStop>, others: &[Followed]) -> Option<Duration> {
        let Some(stop) = stop else {
            self.stage = Stage::Runs;
            return None;
        };
        let left = match &self.stage {
            Stage::Followed(last) if *last == stop => return None,
            _ if others.iter().all(|other| other.is_stopped) => Duration::ZERO,
            Stage::Runs | Stage::Followed(_) => FOR_OTHERS,
            Stage::WaitsForOthers(since) => FOR_OTHERS.saturating_sub(since.elapsed()),
        };
        if left.is_zero() {
            if self.stop(stop.signal, app, others) {
                self.stage = Stage::Followed(stop);
            }
            return None;
        }
        if !matches!(self.stage, Stage::WaitsForOthers(_)) {
            self.stage = Stage::WaitsForOthers(Moment::now());
        }
        Some(left)
    }

    /// Stops this process until it is continued, if there still is a reason.
    fn stop(&mut self, signal: i32, app: i32, others: &[Followed]) -> bool {
        // What has continued this process is to be looked at first: it may be to be passed on. What has continued the app will be reported.
        if is_pending(libc::SIGCONT) || !is_stopped(app) {
            return false;
        }
        let Some(waker) = Waker::start(app, others) else { return true };
        self.waker = waker.0;
        status_line::erase();
        set_default(signal);
        // SAFETY: kill has no memory preconditions. SIGSTOP has its effect here.
        unsafe { libc::kill(libc::getpid(), signal) };
        let_through(signal);
        drop(waker);
        true
    }

    /// Whether a signal is only the waker's, and nobody's to the app.
    pub fn is_of_waker(&self, info: &libc::siginfo_t) -> bool {
        info.si_signo == libc::SIGCONT && info.si_code == libc::SI_USER && sender(info) == self.waker
    }
}

/// See the module's description.
struct Waker(i32);

impl Waker {
    fn start(app: i32, others: &[Followed]) -> Option<Self> {
        // SAFETY: this process has one thread, so the child may do whatever it likes.
        match unsafe { libc::fork() } {
            -1 => None,
            0 => wake(app, others),
            pid => Some(Self(pid)),
        }
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        // SAFETY: it is a child that hasn't been reaped; no status is asked for.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), libc::__WALL);
        }
    }
}

/// The waker's life. It goes on after it has continued its parent: that may have come before the parent has stopped.
fn wake(app: i32, others: &[Followed]) -> ! {
    // SAFETY: plain system calls.
    let parent = unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::getppid()
    };
    let running: Vec<i32> = others.iter().filter(|other| !other.is_stopped).map(|other| other.pid).collect();
    loop {
        std::thread::sleep(LOOKS);
        if !is_stopped(app) || running.iter().any(|pid| is_held(*pid)) {
            // SAFETY: kill has no memory preconditions. The parent is there, or this process isn't any more.
            unsafe { libc::kill(parent, libc::SIGCONT) };
        }
    }
}

/// Whether a process that was stopped still is, and nothing has come that continues it.
fn is_stopped(pid: i32) -> bool {
    let continues = 1 << (libc::SIGCONT - 1);
    is_held(pid) && PendingSignals::of(pid).is_some_and(|pending| pending.any() & continues == 0)
}

/// Whether a process stands still: it is stopped, or waits for its tracer.
fn is_held(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['T', 't']))
}
