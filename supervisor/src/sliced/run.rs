//! The state of a sliced run, and letting the master go on, or go for good.
//!
//! After a failure the slices are killed and the app goes on alone, natively, to its end: its work is the user's. There
//! is then no total.

use std::time::Duration;

use machine::Gpr;
use syscall_replay::is_restart;
use tracee::{Exit, Parent, Running, Stop, Stopped, is_breakpoint};

use crate::app::kill;
use crate::base::{Failure, Moment, Proximity};
use crate::follow::{Birth, JobStops, Parts};
use crate::sliced::boundaries::{Cut, Then, Timer};
use crate::sliced::instructions::clock;
use crate::sliced::master::Master;
use crate::sliced::slices::Slices;

/// What the master is doing.
pub(super) enum Phase {
    /// It runs.
    Running(Running),
    /// It stands before a boundary, because too many slices are running.
    Held(Stopped, Cut, Moment),
    /// It stands before a call that fails as long as certain slices are there.
    Waiting(Stopped, Moment),
    /// It goes on without us, or its end is about to be reported.
    Alone,
}

pub(super) struct Sliced<'a> {
    pub(super) master: Master,
    pub(super) timer: Timer,
    pub(super) slice_time: Duration,
    /// `-spgrace`.
    pub(super) grace: Duration,
    pub(super) phase: Phase,
    pub(super) slices: Slices,
    pub(super) proximity: Proximity,
    pub(super) parts: Parts<'a>,
    pub(super) births: Vec<Birth>,
    /// The master's.
    pub(super) stops: JobStops,
    pub(super) failure: Option<Failure>,
    pub(super) exit: Option<Exit>,
}

impl Sliced<'_> {
    /// Interrupts the master if it executes code of its own.
    pub(super) fn interrupt(&mut self) {
        if let Phase::Running(running) = &self.phase
            && !self.master.is_in_call()
            && !self.master.interrupt_sent
        {
            self.master.interrupt_sent = running.interrupt().is_ok();
        }
    }

    /// The run has failed: slices end, the app goes on alone.
    pub(super) fn fail(&mut self, error: Failure) {
        if self.failure.is_some() {
            return;
        }
        self.failure = Some(error);
        self.slices.kill();
        self.master.processor.give_back();
        match std::mem::replace(&mut self.phase, Phase::Alone) {
            Phase::Running(running) => {
                // An error means that it has ended.
                let _ = running.interrupt();
                self.phase = Phase::Running(running);
            }
            Phase::Held(stopped, cut, _) => {
                let stop = match cut.then {
                    Then::Handler(signal) => Err(signal),
                    Then::Write { number, args, .. } => Ok(Stop::SyscallEntry { number, args }),
                    _ => Ok(Stop::Interrupted),
                };
                let left = match stop {
                    Ok(stop) => self.leave(stopped, stop),
                    Err(signal) => self.resume(stopped, signal),
                };
                if left.is_err() {
                    kill(self.master.pid);
                }
            }
            Phase::Waiting(stopped, _) => {
                if self.leave(stopped, Stop::Interrupted).is_err() {
                    kill(self.master.pid);
                }
            }
            Phase::Alone => {}
        }
    }

    pub(super) fn resume(&mut self, mut stopped: Stopped, signal: i32) -> Result<(), Failure> {
        if signal == 0 && self.failure.is_none() && !self.master.is_in_call() {
            self.master.hold.goes_on(&mut stopped)?;
        }
        self.phase = Phase::Running(stopped.resume(self.master.in_process.mode(), signal)?);
        Ok(())
    }

    /// Lets the master go for good, from the first stop after a failure at which that leaves no trace in it.
    pub(super) fn leave(&mut self, mut stopped: Stopped, stop: Stop) -> Result<(), Failure> {
        let is_trapped = match &stop {
            Stop::Signal(info) => self.master.random.traps.has_hit(&mut stopped, info)?,
            Stop::Interrupted if self.master.random.traps.is_behind(stopped.registers()?.rip()) => {
                return self.resume(stopped, 0);
            }
            _ => false,
        };
        self.master.clear_breakpoints(&mut stopped)?;
        match stop {
            _ if is_trapped => self.resume(stopped, 0)?,
            Stop::Signal(info) if is_breakpoint(&info) => self.resume(stopped, 0)?,
            Stop::SyscallEntry { .. } => self.part(clock::open_at_entry(stopped, self.master.clock_wish)?)?,
            Stop::Signal(info) => {
                match clock::read(&mut stopped, &info, self.master.clock_wish, &self.master.in_process.counter)? {
                    Some(_) => self.resume(stopped, 0)?,
                    None => self.resume(stopped, info.si_signo)?,
                }
            }
            Stop::Group(_) => self.phase = Phase::Running(stopped.stay_stopped()?),
            Stop::Exec => self.let_go(stopped.finish_exec()?)?,
            Stop::ForeignSyscall => self.resume(stopped, 0)?,
            // The kernel makes the call again by itself; the next stop will do.
            Stop::SyscallExit { result } if is_restart(result as u64) => self.resume(stopped, 0)?,
            Stop::Interrupted if is_restart(stopped.registers()?.get(Gpr::Rax)) => self.resume(stopped, 0)?,
            Stop::SyscallExit { .. }
            | Stop::Interrupted
            | Stop::HandlerEntered
            | Stop::Started { .. }
            | Stop::Other(_) => {
                self.let_go(stopped)?;
            }
        }
        Ok(())
    }

    fn let_go(&mut self, mut stopped: Stopped) -> Result<(), Failure> {
        if !self.master.clock_open {
            clock::trap(&mut stopped, self.master.prepared.gate, false, self.master.clock_wish)?;
        }
        self.part(stopped)
    }

    /// The end of a process that isn't our child won't be reported any more.
    pub(super) fn part(&mut self, stopped: Stopped) -> Result<(), Failure> {
        if self.master.parent == Parent::Other {
            self.exit.get_or_insert(Exit::Code(0));
        }
        Ok(stopped.detach(0)?)
    }
}
