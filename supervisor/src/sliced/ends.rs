//! How a run ends: with the app, or before it, when the app is to go on without us.
//!
//! The last slice then ends at a call, or where any slice may: as where the app is killed, a fork that never runs keeps the state there, which the slice has to
//! prove that it has come to.

use bubble::shared::{EndKind, SharedContents};
use tracee::{ExitStatus, Stop, Stopped};

use super::cut::Run;
use crate::base::{Failure, Moment, affinity};
use crate::follow::{Outcome, Resources};
use crate::report::Boundary;
use crate::sliced::boundaries::{Cut, Then, call_end, entry_registers};

impl<'a> Run<'a> {
    /// The app has ended.
    pub(super) fn app_ended(&mut self, exit: ExitStatus) -> Result<(), Failure> {
        self.master.ends(exit);
        affinity::leave();
        self.resources.statistics.app_ended();
        if self.slices.recorded().is_some() {
            let end = self.master.thread().end_of_killed().ok_or_else(|| ended_early(exit))?;
            self.release(&mut Cut::new(Boundary::Exit, Some(end), Then::Nothing));
        }
        Ok(())
    }

    /// Whether nothing is left to be done but to print the result.
    pub(super) fn is_over(&self) -> bool {
        let is_gone = self.master.exit().is_some() || self.detaches && self.master.has_parted();
        is_gone && (self.master.has_failed() || self.slices.is_empty())
    }

    /// How it went.
    pub(super) fn conclude(mut self) -> (Outcome, Resources<'a>) {
        self.slices.kill();
        self.resources.statistics.children = self.master.process().children();
        self.resources.statistics.shared_bytes_compared = self.master.process().memory().compared();
        let lives_on = self.detaches && self.master.has_parted() && self.master.exit().is_none();
        (Outcome { lives_on, ..self.master.conclude() }, self.resources)
    }

    /// The app is to go on without us as soon as the slice that is recorded can end.
    pub(super) fn detach(&mut self) {
        if !self.master.is_let_go() {
            self.detaches = true;
            self.hurry();
        }
    }

    /// Whether it is.
    pub(super) fn detaches(&self) -> bool {
        self.detaches
    }

    /// The slice that is recorded is to end.
    pub(super) fn hurry(&mut self) {
        if let Some(slice) = self.slices.recorded_mut() {
            slice.set_due(true);
        }
        self.master.interrupt_call();
    }

    /// Ends the last slice, and lets the app go.
    pub(super) fn cut_last(&mut self, stopped: Stopped, mut cut: Cut, since: Moment) -> Result<(), Failure> {
        if cut.end.as_ref().is_none_or(|end| end.kind == EndKind::Syscall) {
            self.release(&mut cut);
            self.master.hold(stopped, cut);
            self.master.let_go();
            return Ok(());
        }
        if !self.slices.has_room(&self.resources.memory) {
            self.master.hold(stopped, cut);
            return Ok(());
        }
        cut.then = Then::Death { signal: 0, by_instruction: true };
        self.fork(stopped, cut, since)?;
        if self.slices.recorded().is_none() {
            self.master.let_go();
        }
        Ok(())
    }

    /// The app has been interrupted in a call, number `number`: there the last slice ends, and the app is let go.
    pub(super) fn leave_in_call(&mut self, stopped: Stopped, stop: Stop, number: u64) -> Result<(), Failure> {
        let registers = entry_registers(&stopped.registers()?, number);
        self.release(&mut Cut::new(
            Boundary::Exit,
            Some(call_end(&registers, SharedContents::default())),
            Then::Nothing,
        ));
        self.master.let_go();
        self.master.leave(stopped, stop)
    }
}

fn ended_early(exit: ExitStatus) -> Failure {
    match exit {
        ExitStatus::Signal(signal) => Failure::Killed(signal),
        ExitStatus::Code(code) => {
            Failure::Unsupported(format!("the app ended with {code} where superpin didn't see it"))
        }
    }
}
