//! Signals that the master's instructions raise for us: breakpoints, single steps, trapped readings. They must leave no trace.
//!
//! The kernel lets none be lost that an instruction raises, though it be blocked or ignored ([`Setting`]). So what is set is noted before the master goes on, and
//! set again behind such a signal.
//!
//! ```text
//!   blocks all signals ─► rdtsc: SIGSEGV, which the kernel unblocks, and whose handler is gone ─► both are set again
//! ```

use tracee::Stopped;

use super::thread::Thread;
use crate::app::{Dispositions, OF_INSTRUCTIONS, Setting, handler_of, is_synchronous};
use crate::base::Failure;

/// Those that we have instructions raise.
const RAISED: [i32; 2] = [libc::SIGTRAP, libc::SIGSEGV];

/// What a process has set for them.
#[derive(Default)]
pub(super) struct RaisedActions {
    /// `None`: it may have changed.
    dispositions: Option<Dispositions>,
    /// Handlers, as far as they were asked for, in the order of [`RAISED`].
    handlers: [Option<u64>; RAISED.len()],
}

impl RaisedActions {
    /// The process may set something else.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// The process is about to make a call, by which it may set something else.
    pub(super) fn before_call(&mut self, number: u64, args: &[u64; 6]) {
        let sets = match number as i64 {
            libc::SYS_rt_sigaction => OF_INSTRUCTIONS.contains(&(args[0] as i32)),
            libc::SYS_execve | libc::SYS_execveat => true,
            _ => false,
        };
        if sets {
            self.forget();
        }
    }

    /// The thread, which isn't armed, is about to go on, outside of a call: notes what such a signal would change.
    ///
    /// # Errors
    /// If the process was killed, or doesn't tell.
    pub(super) fn note(&mut self, thread: &mut Thread, stopped: &mut Stopped, gadget: u64) -> Result<(), Failure> {
        thread.blocks_raised =
            stopped.signal_mask()? & OF_INSTRUCTIONS.iter().fold(0, |all, &signal| all | bit(signal));
        let dispositions = self.dispositions(thread)?;
        for (place, signal) in RAISED.into_iter().enumerate() {
            let is_needed = thread.blocks_raised & dispositions.caught & bit(signal) != 0;
            if is_needed && self.handlers[place].is_none() {
                self.handlers[place] = Some(handler_of(stopped, gadget, signal)?);
            }
        }
        Ok(())
    }

    /// The thread, in the care of the recorder inside it, is about to go on: it blocks none of these signals, and ignores none by which the recorder stops.
    ///
    /// # Errors
    /// If the process doesn't tell.
    pub(super) fn note_armed(&mut self, thread: &mut Thread) -> Result<(), Failure> {
        thread.blocks_raised = 0;
        self.dispositions(thread).map(|_| ())
    }

    fn dispositions(&mut self, thread: &Thread) -> Result<Dispositions, Failure> {
        if let Some(known) = self.dispositions {
            return Ok(known);
        }
        let unknown = || Failure::Unsupported("/proc/PID/status doesn't tell the app's signal handlers".into());
        let now = thread.throttle.status().dispositions(libc::SIGSEGV).ok_or_else(unknown)?;
        Ok(*self.dispositions.insert(now))
    }

    /// Whether a signal kills the thread that has just stopped for it, whatever handler the process has: one of its instructions has raised it, and it blocks or ignores it.
    pub(super) fn kills(&self, thread: &Thread, info: &libc::siginfo_t) -> bool {
        let signal = info.si_signo;
        let is_unheard = thread.blocks_raised & bit(signal) != 0 || self.ignores(signal);
        is_unheard && is_synchronous(signal, info.si_code)
    }

    /// What the thread has set for `signal`, which one of its instructions has raised.
    pub(super) fn setting(&self, thread: &Thread, signal: i32) -> Setting {
        let is_blocked = thread.blocks_raised & bit(signal) != 0;
        let place = RAISED.iter().position(|&raised| raised == signal);
        let handler = match self.ignores(signal) {
            true => Some(libc::SIG_IGN as u64),
            false => place.and_then(|place| self.handlers[place]).filter(|_| is_blocked),
        };
        Setting { signal, is_blocked, handler }
    }

    fn ignores(&self, signal: i32) -> bool {
        self.dispositions.is_some_and(|dispositions| dispositions.ignored & bit(signal) != 0)
    }
}

const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}
