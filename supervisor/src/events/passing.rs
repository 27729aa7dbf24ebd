//! Signals that somebody sends to superpin are the app's: whoever started the one means the other.
//!
//! A signal may also have been sent to the app itself: by the terminal, or by a kill(2) of the process group. Such a one isn't passed on.
//! The kernel sends a group's signal to the app first, which is the younger of the two. So when superpin takes a signal, the app's copy either
//! still waits, or the app has stopped for it.
//!
//! The app is to see who has sent a signal. Only a tracer can say that of another process's kill(2): when the app stops for what was passed
//! on, it is told what superpin was told.

use std::collections::BTreeMap;
use std::time::Duration;

use tracee::{ExitStatus, Stopped, TraceError};

use super::events::is_pending;
use crate::base::Moment;

/// What else has been sent to the group arrives here within that time after it has arrived in the app.
const AT_ONCE: Duration = Duration::from_millis(10);
/// What waits for the app arrives there within that time, or perhaps is taken without a stop.
const SOON: Duration = Duration::from_secs(1);

/// The first of the signals that queue (the kernel's SIGRTMIN, not libc's).
const FIRST_QUEUED: i32 = 32;

/// The passing of signals to one process.
#[derive(Default)]
pub struct Passing {
    pid: i32,
    /// What was passed on and hasn't arrived: who sent it. Of a signal that doesn't queue it is one.
    under_way: BTreeMap<i32, Vec<libc::siginfo_t>>,
    /// What arrived by itself, and may arrive here as well.
    seen: BTreeMap<i32, Seen>,
    /// What wasn't passed on since it waited there: it is about to arrive by itself, and has arrived here already.
    awaited: BTreeMap<i32, (i32, Moment)>,
}

/// When a signal was taken here.
#[derive(Clone, Copy)]
pub struct Taken {
    /// Then. What has happened to the process since may have taken long to look at.
    pub at: Moment,
    /// Whether one with that number waited for the process.
    pub waited: bool,
    /// Whether it is the first one with that number.
    pub is_first: bool,
}

impl Taken {
    /// Whether a process that has ended with this status may have done so because this very signal was sent to it as well, by the terminal or to the group. It can die before
    /// superpin looks at its own copy: nobody has asked a second time then.
    pub fn has_ended(self, exit: ExitStatus, signal: i32) -> bool {
        self.is_first && exit.shell_status() == ExitStatus::Signal(signal).shell_status()
    }
}

struct Seen {
    sender: i32,
    at: Moment,
    /// So many wait here for certain.
    surely: u32,
}

impl Passing {
    /// To this process.
    pub fn new(pid: i32) -> Self {
        Self { pid, ..Self::default() }
    }

    /// Sends a signal with what is known of it.
    pub fn send(&mut self, info: &libc::siginfo_t) {
        let signal = info.si_signo;
        let under_way = self.under_way.entry(signal).or_default();
        if signal_merges(signal) {
            under_way.clear();
        }
        under_way.push(*info);
        // With its value, for those who take it while it is blocked. Others see all of it, see `arrives`.
        let is_queued = info.si_code == libc::SI_QUEUE;
        // SAFETY: the information is valid. The process hasn't been reaped.
        let sent = is_queued
            && unsafe { libc::syscall(libc::SYS_rt_sigqueueinfo, self.pid, signal, std::ptr::from_ref(info)) } == 0;
        if !sent {
            // SAFETY: kill has no memory preconditions. The process hasn't been reaped.
            unsafe { libc::kill(self.pid, signal) };
        }
    }

    /// The process has stopped for a signal. `info` becomes what it is told about it.
    ///
    /// # Errors
    /// If it was killed.
    pub fn arrives(&mut self, stopped: &mut Stopped, info: &mut libc::siginfo_t) -> Result<(), TraceError> {
        let signal = info.si_signo;
        if info.si_code != libc::SI_USER {
            if let Some(under_way) = self.under_way.get_mut(&signal).filter(|_| info.si_code == libc::SI_QUEUE) {
                under_way.pop();
            }
            return Ok(());
        }
        if sender(info) != std::process::id() as i32 {
            self.see(signal, sender(info));
            return Ok(());
        }
        let Some(under_way) = self.under_way.get_mut(&signal).filter(|infos| !infos.is_empty()) else { return Ok(()) };
        *info = under_way.remove(0);
        stopped.set_signal_info(info)
    }

    fn see(&mut self, signal: i32, sender: i32) {
        if self.awaited.remove(&signal).is_some_and(|(from, at)| from == sender && at.elapsed() < SOON) {
            return;
        }
        let surely = u32::from(is_pending(signal));
        let at = Moment::now();
        match self.seen.get_mut(&signal).filter(|seen| seen.sender == sender) {
            Some(seen) => {
                (seen.at, seen.surely) = (at, if signal_merges(signal) { surely } else { seen.surely + surely })
            }
            None => drop(self.seen.insert(signal, Seen { sender, at, surely })),
        }
    }

    /// Passes on a signal that was taken here, unless the process has got it as well. All that had happened to the process until then has been looked at.
    pub fn pass(&mut self, info: &libc::siginfo_t, taken: Taken) {
        if info.si_code == libc::SI_USER {
            if self.was_seen(info, taken.at) {
                return;
            }
            if taken.waited && !self.is_under_way(info.si_signo) {
                self.awaited.insert(info.si_signo, (sender(info), Moment::now()));
                return;
            }
        }
        self.send(info);
    }

    /// What waits there is what was passed on before. Where it is of those that don't queue, nothing would change.
    fn is_under_way(&self, signal: i32) -> bool {
        !signal_merges(signal) && self.under_way.get(&signal).is_some_and(|infos| !infos.is_empty())
    }

    fn was_seen(&mut self, info: &libc::siginfo_t, taken: Moment) -> bool {
        let Some(seen) = self.seen.get_mut(&info.si_signo).filter(|seen| seen.sender == sender(info)) else {
            return false;
        };
        let is_so = seen.surely > 0 || taken.since(seen.at) < AT_ONCE;
        seen.surely = seen.surely.saturating_sub(1);
        if signal_merges(info.si_signo) {
            self.seen.remove(&info.si_signo);
        }
        is_so
    }
}

/// Whether a second one is lost while the first waits.
fn signal_merges(signal: i32) -> bool {
    signal < FIRST_QUEUED
}

/// Who has sent a signal by kill(2).
pub fn sender(info: &libc::siginfo_t) -> i32 {
    // SAFETY: of such a signal the kernel has filled this in.
    unsafe { info.si_pid() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a signal ends a run in which the app has ended like that, and nothing but slices run.
    fn asks(is_first: bool, exit: ExitStatus) -> bool {
        !Taken { at: Moment::now(), waited: false, is_first }.has_ended(exit, libc::SIGINT)
    }

    #[test]
    fn what_has_ended_the_app_is_no_second_request() {
        assert!(!asks(true, ExitStatus::Signal(libc::SIGINT)));
        assert!(
            !asks(true, ExitStatus::Code(130)),
            "what a shell says of a child that died of it, and programs that clean up"
        );
        assert!(asks(false, ExitStatus::Signal(libc::SIGINT)), "somebody has asked twice");
        assert!(asks(true, ExitStatus::Code(0)));
        assert!(asks(true, ExitStatus::Signal(libc::SIGTERM)));
    }
}
