//! The master's thread: where it stands, and what is the thread's own.
//!
//! ```text
//!              begins, enters            leaves
//!   Outside ────────────────► InCall ────────────────► Outside
//!      ▲ │ rewinds                │ is broken off, rewinds
//!      │ └──────► BrokenOff ◄─────┘
//!      └── handler ──┘ └── begins ──► the call once more
//! ```
//!
//! Invariants:
//! * A call is there exactly between its entry stop and its exit stop.
//! * *No interrupt inside a call*: after an interrupt was sent and until it has arrived, no system call is made, since an interrupt inside one could change
//!   what the app sees of it.
//! * A breakpoint is set exactly while something is [`Awaited`].

use std::time::Duration;

use bubble::end::{End, SharedContents};
use syscall_replay::{Recorder, is_restart, table};
use tracee::{Running, Stop, Stopped, TraceError};

use super::broken_off::{Again, BrokenOff};
use super::call::OpenCall;
use super::throttle::{Leaves, Throttle};
use crate::app::registered;
use crate::base::{Failure, Processor};
use crate::sliced::boundaries::{Reached, call_end};
use crate::sliced::instructions::{Breakpoints, Tsc};
use crate::sliced::slices::{Context, Identity};

/// Calls after which other handlers may be set, and those that start a process, with which one may share what it sets.
const SETS_HANDLERS: [i64; 6] =
    [libc::SYS_rt_sigaction, libc::SYS_execve, libc::SYS_execveat, libc::SYS_clone, libc::SYS_clone3, libc::SYS_vfork];

/// Where a thread stands.
pub(super) enum At {
    /// In code of its own.
    Outside,
    /// Between a call's entry stop and its exit stop.
    InCall(Box<OpenCall>),
    /// Behind a call that was broken off and will be made again, unless a handler runs before.
    BrokenOff(BrokenOff),
}

/// What takes place at a breakpoint.
pub(in crate::sliced::master) enum Awaited {
    /// This signal is delivered. It came in the middle of a repeated string instruction, and has waited for its end.
    Signal(libc::siginfo_t),
    /// The slice ends, or will soon.
    Cut(Reached),
}

/// A thread of the master's.
pub struct Thread {
    /// Who it is.
    pub(in crate::sliced::master) identity: Identity,
    /// Where it stands while it hasn't the turn, or would if it lost it.
    pub(in crate::sliced::master) context: Option<Box<Context>>,
    /// It has lost its turn in the call in which it is.
    pub(super) is_left_in_call: bool,
    /// Where it runs.
    pub(in crate::sliced) processor: Processor,
    /// Records its calls.
    pub(in crate::sliced::master) recorder: Recorder,
    /// Breakpoints that are set for what is recorded, see [`RandomInstructions::set_for`].
    pub(in crate::sliced::master) breakpoints: Breakpoints,
    pub(super) at: At,
    pub(super) awaited: Option<Awaited>,
    /// Of the signals that instructions raise: those that it blocks.
    pub(in crate::sliced::master) blocks_raised: u64,
    /// An interrupt is on its way, unless another stop has discarded it.
    pub(super) interrupt_sent: bool,
    /// How it reads the time stamp counter.
    pub(in crate::sliced::master) tsc: Tsc,
    /// A signal that it was sent once more, since another stop had to be looked at first.
    pub(super) sent_again: Option<libc::siginfo_t>,
    /// Its signals that wait until it has got on.
    pub(in crate::sliced::master) throttle: Throttle,
}

/// Its calls.
impl Thread {
    /// The thread of process `pid`, before its first instruction.
    pub fn new(pid: i32) -> Self {
        Self::with(Identity::first(pid), Tsc::new(), Throttle::none(pid))
    }

    pub(super) fn with(identity: Identity, tsc: Tsc, throttle: Throttle) -> Self {
        Self {
            processor: Processor::new(identity.tid()),
            identity,
            context: None,
            is_left_in_call: false,
            recorder: Recorder::new(),
            breakpoints: Breakpoints::default(),
            at: At::Outside,
            awaited: None,
            blocks_raised: 0,
            interrupt_sent: false,
            sent_again: None,
            tsc,
            throttle,
        }
    }

    /// Whether it is inside a system call.
    pub fn is_in_call(&self) -> bool {
        self.call().is_some()
    }

    /// The call that it is in.
    pub(in crate::sliced::master) fn call(&self) -> Option<&OpenCall> {
        match &self.at {
            At::InCall(call) => Some(call),
            At::Outside | At::BrokenOff(_) => None,
        }
    }

    /// Whether it will make a call once more that was broken off.
    pub(in crate::sliced::master) fn is_to_call_again(&self) -> bool {
        matches!(self.at, At::BrokenOff(_))
    }

    /// It comes to the call `number`: nothing is broken off any more. How the call is made, if it was.
    pub(in crate::sliced::master) fn begins_call(&mut self, number: u64) -> Again {
        if SETS_HANDLERS.contains(&(number as i64)) {
            self.throttle.status().forget_dispositions();
        }
        match std::mem::replace(&mut self.at, At::Outside) {
            At::BrokenOff(call) => call.again,
            At::Outside | At::InCall(_) => Again::default(),
        }
    }

    /// It is at the entry of a call that it will make.
    pub(in crate::sliced::master) fn enters(&mut self, call: OpenCall) {
        self.is_left_in_call = false;
        self.at = At::InCall(Box::new(call));
    }

    /// It is out of the call, if it was in one.
    pub(in crate::sliced::master) fn leaves_call(&mut self) -> Option<OpenCall> {
        self.is_left_in_call = false;
        match std::mem::replace(&mut self.at, At::Outside) {
            At::InCall(call) => Some(*call),
            other => {
                self.at = other;
                None
            }
        }
    }

    /// The kernel has broken a call off. `is_known`: the recorder knows it, and all that it has written.
    pub(in crate::sliced::master) fn is_broken_off(&mut self, number: u64, is_known: bool) {
        self.at = At::BrokenOff(BrokenOff { number, is_rewound: false, again: Again::default(), is_known });
    }

    /// The call that was broken off, if a record of it can be written. `rax`: what the kernel has left there.
    pub(in crate::sliced::master) fn known_broken_off(&self, rax: u64) -> Option<u64> {
        match self.at {
            At::BrokenOff(call) if call.is_known && !call.is_rewound && call.is_so(rax) => Some(call.number),
            _ => None,
        }
    }

    /// The call will be entered again, unless a signal comes first. To the app it has been made then, and broken off:
    /// its `syscall` instruction has already overwritten rcx and r11.
    pub(in crate::sliced::master) fn rewinds(&mut self, number: u64, again: Again) {
        // A call that the kernel makes again may have another number then.
        let (number, again) = match self.at {
            At::BrokenOff(before) => (before.number, again.or(before.again)),
            At::Outside | At::InCall(_) => (number, again),
        };
        self.at = At::BrokenOff(BrokenOff { number, is_rewound: true, again, is_known: false });
    }

    /// Whether it is in a call before which the last slice has ended.
    pub fn is_alone(&self) -> bool {
        self.call().is_some_and(OpenCall::is_alone)
    }

    /// The call that it is in.
    pub fn call_number(&self) -> Option<u64> {
        self.call().map(|call| call.pending.number)
    }

    /// It was killed without another stop. Where it has killed itself the slice ends at that call.
    pub fn end_of_killed(&mut self) -> Option<Box<End>> {
        let call = self.leaves_call()?;
        table::may_kill(call.pending.number, &call.pending.args)
            .then(|| call.entry.as_ref().map(|entry| call_end(entry, SharedContents::default())))?
    }

    /// A signal is handled: the call that was broken off, if there is one, won't be made again.
    pub(in crate::sliced::master) fn gives_call_up(&mut self) -> Option<BrokenOff> {
        let At::BrokenOff(call) = self.at else { return None };
        self.at = At::Outside;
        Some(call)
    }
}

/// Interrupts.
impl Thread {
    /// Interrupts it if it executes code of its own.
    pub fn interrupt(&mut self, running: &Running) {
        if !self.is_in_call() && !self.interrupt_sent {
            self.interrupt_sent = running.interrupt().is_ok();
        }
    }

    /// Whether an interrupt may be on its way.
    pub(in crate::sliced) fn awaits_interrupt(&self) -> bool {
        self.interrupt_sent
    }

    /// It has arrived, or nobody waits for it any more.
    pub(in crate::sliced::master) fn is_interrupted(&mut self) {
        self.interrupt_sent = false;
    }

    /// To be called before the thread goes on: an interrupt that the stop at hand has discarded is sent again.
    ///
    /// # Errors
    /// If it was killed.
    pub fn renew_interrupt(&self, stopped: &Stopped) -> Result<(), TraceError> {
        if self.interrupt_sent && !self.is_in_call() { stopped.interrupt() } else { Ok(()) }
    }
}

/// Going on.
impl Thread {
    /// It is a process's first one, which stands still before its first instruction or its copy's.
    ///
    /// # Errors
    /// If the process is gone or the kernel has no timers left.
    pub fn begin(&mut self, pid: i32) -> Result<(), Failure> {
        self.throttle = Throttle::new(pid)?;
        Ok(())
    }

    /// It is that of a copy of a process.
    ///
    /// # Errors
    /// If it was killed.
    pub fn inherit(&mut self, stopped: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
        self.tsc.see(stopped, gadget)
    }

    /// It is the first one of a process that was running by itself.
    ///
    /// # Errors
    /// If it was killed.
    pub fn attach(&mut self, stopped: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
        let [cleared, ..] = registered(stopped, gadget)?;
        self.identity.clears(cleared);
        self.tsc.see(stopped, gadget)
    }

    /// A program was loaded. `is_first`: nothing is known of it yet.
    ///
    /// # Errors
    /// If it was killed.
    pub fn new_image(&mut self, stopped: &mut Stopped, gadget: u64, is_first: bool) -> Result<(), TraceError> {
        if is_first {
            self.tsc.see(stopped, gadget)?;
        }
        self.tsc.new_image();
        self.identity = Identity::first(stopped.pid());
        Ok(())
    }

    /// It is about to be forked for a slice: it has its processors.
    ///
    /// # Errors
    /// If it was killed.
    pub fn ready_to_fork(&mut self, stopped: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
        self.processor.give_back();
        self.tsc.close(stopped, gadget)
    }

    /// It was forked, and goes on after it was held up for so long. The fork has taken an interrupt that was on its way.
    pub fn forked(&mut self, held_up: Duration) {
        self.interrupt_sent = false;
        self.throttle.after_boundary(held_up);
    }

    /// It has come to a stop.
    ///
    /// # Errors
    /// If it was killed.
    pub fn comes_to(&mut self, stopped: &mut Stopped, stop: &Stop) -> Result<(), TraceError> {
        let leaves = match stop {
            Stop::SyscallExit { .. } if self.call().is_some_and(OpenCall::is_signal_return) => Leaves::Handler,
            Stop::SyscallExit { result } if is_broken_off(*result) => Leaves::BrokenOffCall,
            Stop::SyscallExit { .. } => Leaves::Call,
            Stop::Interrupted | Stop::Group(_) | Stop::Signal(_) => Leaves::TheSame,
            _ => Leaves::Code,
        };
        self.throttle.stopped(stopped, leaves)
    }

    /// It is about to go on without a signal.
    ///
    /// # Errors
    /// If it was killed.
    pub fn goes_on(&mut self, stopped: &mut Stopped) -> Result<(), TraceError> {
        if self.is_in_call() { Ok(()) } else { self.throttle.goes_on(stopped) }
    }

    /// Whether signals have been held back for long enough. Looks again later if not.
    pub fn throttle_is_over(&mut self) -> bool {
        self.throttle.is_over()
    }

    /// Whether the recorder may have it: it executes code of its own, reads the counter as usual, and nothing is about to happen to it.
    pub(in crate::sliced::master) fn is_free(&self) -> bool {
        matches!(self.at, At::Outside)
            && self.awaited.is_none()
            && !self.interrupt_sent
            && !self.throttle.is_on()
            && !self.tsc.faults()
    }
}

/// Whether a call has given this because a signal has come: it waits, or was waiting, with the mask that let the signal in.
fn is_broken_off(result: i64) -> bool {
    is_restart(result as u64) || result == -i64::from(libc::EINTR)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_broken_off_stays_so_until_it_is_made_or_a_handler_runs() {
        let mut thread = Thread::new(0);
        assert!(thread.gives_call_up().is_none() && thread.leaves_call().is_none() && thread.is_free());
        thread.is_broken_off(7, true);
        assert!(thread.is_to_call_again() && !thread.is_in_call() && !thread.is_free());
        assert!(thread.leaves_call().is_none() && thread.is_to_call_again(), "it is in none");
        // The kernel makes it again, under its own number, and we put it off.
        thread.rewinds(219, Again::default());
        let call = thread.gives_call_up().expect("it is to be made again");
        assert_eq!((call.number, call.is_rewound), (7, true));
        assert!(!thread.is_to_call_again());
        thread.is_broken_off(8, false);
        assert!(thread.begins_call(0) == Again::default() && !thread.is_to_call_again());
    }

    #[test]
    fn a_call_is_made_a_second_time_once() {
        let mut thread = Thread::new(0);
        let second = Again { is_second: true, is_ready: false };
        thread.rewinds(59, second);
        // An interrupt comes before it is.
        thread.rewinds(59, Again::default());
        assert_eq!([thread.begins_call(0), thread.begins_call(0)], [second, Again::default()]);
        thread.rewinds(59, second);
        thread.gives_call_up();
        assert_eq!(thread.begins_call(0), Again::default(), "a handler has run");
    }
}
