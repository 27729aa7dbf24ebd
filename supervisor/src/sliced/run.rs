//! The state of a sliced run, and letting the master go on, or go for good.
//!
//! After a failure the slices are killed and the app goes on alone, natively, to its end: its work is the user's. There
//! is then no total.

use std::time::Duration;

use tracee::{ExitStatus, Running, Stop, Stopped};

use crate::app::kill;
use crate::base::{Affinity, Failure, Moment};
use crate::follow::{JobStops, NewProcess, Resources};
use crate::sliced::boundaries::{Cut, Then, Timer};
use crate::sliced::master::{self, Leave, Process, Thread};
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
    /// The master's process, and its thread.
    pub(super) process: Process,
    pub(super) thread: Thread,
    pub(super) timer: Timer,
    pub(super) slice_time: Duration,
    /// `-spgrace`.
    pub(super) grace: Duration,
    pub(super) phase: Phase,
    pub(super) slices: Slices,
    pub(super) affinity: Affinity,
    pub(super) resources: Resources<'a>,
    pub(super) new_processes: Vec<NewProcess>,
    /// The master's.
    pub(super) stops: JobStops,
    pub(super) failure: Option<Failure>,
    pub(super) exit: Option<ExitStatus>,
}

impl Sliced<'_> {
    /// Interrupts the master if it executes code of its own.
    pub(super) fn interrupt(&mut self) {
        if let Phase::Running(running) = &self.phase {
            self.thread.interrupt(running);
        }
    }

    /// The run has failed: slices end, the app goes on alone.
    pub(super) fn fail(&mut self, error: Failure) {
        if self.failure.is_some() {
            return;
        }
        self.failure = Some(error);
        self.slices.kill();
        self.process.processor().give_back();
        self.process.memory().common().leaves();
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
                    kill(self.process.pid());
                }
            }
            Phase::Waiting(stopped, _) => {
                if self.leave(stopped, Stop::Interrupted).is_err() {
                    kill(self.process.pid());
                }
            }
            Phase::Alone => {}
        }
    }

    pub(super) fn resume(&mut self, mut stopped: Stopped, signal: i32) -> Result<(), Failure> {
        if signal == 0 && self.failure.is_none() {
            self.thread.goes_on(&mut stopped)?;
        }
        self.phase = Phase::Running(stopped.resume(self.process.mode(), signal)?);
        Ok(())
    }

    /// Lets the master go for good, from the first stop after a failure at which that leaves no trace in it.
    pub(super) fn leave(&mut self, stopped: Stopped, stop: Stop) -> Result<(), Failure> {
        match master::leave(&mut self.process, &mut self.thread, stopped, stop)? {
            Leave::Resume(stopped, signal) => self.resume(stopped, signal),
            Leave::Stay(stopped) => {
                self.phase = Phase::Running(stopped.stay_stopped()?);
                Ok(())
            }
            Leave::Part(stopped) => self.detach(stopped),
        }
    }

    /// The end of a process that isn't our child won't be reported any more.
    pub(super) fn detach(&mut self, stopped: Stopped) -> Result<(), Failure> {
        if !self.process.is_our_child() {
            self.exit.get_or_insert(ExitStatus::Code(0));
        }
        Ok(stopped.detach(0)?)
    }
}
