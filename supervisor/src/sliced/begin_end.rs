//! How a run begins: with a program, with a copy of a process, or with one that was running by itself. And how it ends: with the app, or before it, when the app
//! is to go on without us.
//!
//! The last slice then ends at a call, or where any slice may: as where the app is killed, a fork that never runs keeps the state there, which the slice has to
//! prove that it has come to.

use bubble::end::{EndKind, SharedContents};
use tracee::{ExitStatus, Follows, Stop, Stopped};

use super::cut::Run;
use crate::app::{Standing, Taken, name_of, note_all, prepare_running};
use crate::base::{Failure, Moment, affinity};
use crate::follow::{Origin, Outcome, Resources};
use crate::report::{Boundary, LiveStatus};
use crate::sliced::boundaries::{Cut, Then, call_end, entry_registers};
use crate::sliced::memory::busy_programs;
use crate::sliced::slices::live_status;

impl<'a> Run<'a> {
    /// The first slice begins with the process as it is, or with its program.
    pub(super) fn begin(&mut self, process: Stopped, origin: Origin) -> Result<(), Failure> {
        let master = self.master.process();
        self.time.begin(master.pid())?;
        master.memory().files().tell(self.resources.memory.files()?);
        let Resources { kept, memory, statistics, .. } = &mut self.resources;
        kept.begin(master.pid(), memory, statistics);
        let (master, thread) = self.master.parts();
        thread.begin(master.pid())?;
        let (process, cut) = match origin {
            Origin::Image => (process, Cut::new(Boundary::Exec, None, Then::Image)),
            Origin::Copy(inherited) => {
                let mut process = process;
                self.resources.name.clone_from(&inherited.name);
                note_all(master.pid(), &self.resources.memory.files()?);
                master.inherit(&mut process, *inherited)?;
                thread.inherit(&mut process, master.gadget())?;
                (process, Cut::new(Boundary::Process, None, Then::Fork))
            }
            Origin::Running { is_stopped, others } => {
                let Some(process) = self.takes_running(Standing { process, is_stopped, others })? else {
                    return Ok(());
                };
                (process, Cut::new(Boundary::Process, None, Then::Fork))
            }
        };
        self.cut(process, cut, Moment::now())
    }

    /// Makes a process that was running what a program is that superpin has started. `None` if it can't be followed: it goes on natively.
    fn takes_running(&mut self, standing: Standing) -> Result<Option<Stopped>, Failure> {
        let is_stopped = standing.is_stopped;
        let Taken { mut process, others, prepared, borrowed } = match prepare_running(standing, true) {
            Ok(taken) => taken,
            Err((threads, why)) => {
                threads.into_iter().try_for_each(|thread| thread.detach(0))?;
                self.fail(why);
                self.master.has_left();
                return Ok(None);
            }
        };
        let pid = process.pid();
        self.resources.name = name_of(pid);
        note_all(pid, &self.resources.memory.files()?);
        process.follow(Follows::Threads, false)?;
        let (master, thread) = self.master.parts();
        master.attach(&mut process, prepared, borrowed)?;
        thread.attach(&mut process, master.gadget())?;
        self.stops_again = is_stopped;
        self.traced.want();
        for mut other in others {
            other.follow(Follows::Threads, false)?;
            self.adopt_running(other)?;
        }
        Ok(Some(process))
    }

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

    /// A process has ended that may have been what the master's call is waiting for: a slice of its own or of another's.
    pub(super) fn try_call_again(&mut self) -> Result<(), Failure> {
        if !self.master.is_waiting() || busy_programs::are_there() {
            return Ok(());
        }
        let Some((stopped, since)) = self.master.take_waiting() else { return Ok(()) };
        self.resources.statistics.slept(since);
        self.master.resume(stopped, 0)
    }

    /// Whether nothing is left to be done but to print the result.
    pub(super) fn is_over(&self) -> bool {
        let is_gone = self.master.exit().is_some() || self.detaches && self.master.has_parted();
        is_gone && (self.master.has_failed() || self.slices.is_empty())
    }

    /// How it went.
    pub(super) fn conclude(mut self) -> (Outcome, Resources<'a>) {
        self.resources.statistics.progress = self.slices.progress();
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

    /// The app may have entered a call since it was to hurry: it is interrupted in that.
    pub(super) fn hurries_call(&mut self) {
        if self.detaches && self.master.thread().is_in_call() {
            self.master.interrupt_call();
        }
    }

    /// Whether another slice may be released, and yet another forked. An app that is to go on without us doesn't wait for processors.
    pub(super) fn has_room(&self) -> bool {
        let Resources { memory, statistics, .. } = &self.resources;
        let has_enough = || self.time.has_enough(self.slices.at_work(), &statistics.costs());
        self.slices.has_room(memory) && (self.detaches || !has_enough())
    }

    /// Ends the last slice, and lets the app go.
    pub(super) fn cut_last(&mut self, stopped: Stopped, mut cut: Cut, since: Moment) -> Result<(), Failure> {
        if cut.end.as_ref().is_none_or(|end| end.kind == EndKind::Syscall) {
            self.release(&mut cut);
            self.master.hold(stopped, cut);
            self.master.let_go();
            return Ok(());
        }
        if !self.has_room() {
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

    /// No slice is recorded any more: the app is on its way out.
    pub(super) fn after_the_end(&mut self, stopped: Stopped, stop: Stop) -> Result<(), Failure> {
        if self.detaches {
            self.master.let_go();
            return self.master.leave(stopped, stop);
        }
        match stop {
            Stop::Signal(info) => self.master.resume(stopped, info.si_signo),
            Stop::Group(_) => self.master.stay(stopped),
            _ => self.master.resume(stopped, 0),
        }
    }

    /// Slices that are yet to come don't matter. Those that look at the app's files want them as they were: until all of them have finished it isn't let go.
    pub(super) fn tool_looks_no_more(&mut self, ends_app: bool) {
        self.slices.let_run();
        let have_finished = self.slices.all_others_have_finished();
        if have_finished {
            // While the app is still looked at: it may be about to write to a program that only these execute.
            self.slices.forget_kept();
        }
        if ends_app || have_finished {
            self.slices.forget_recorded();
        }
        if ends_app {
            self.master.end();
        } else if have_finished {
            self.master.is_looked_at_no_more();
            self.master.let_go();
        }
    }

    /// How it gets on, while nothing writes to a terminal unseen: the app isn't let go, no recorder is inside it, and it has started no process.
    pub(super) fn live_status(&mut self) -> Option<LiveStatus> {
        let has_ended = self.master.exit().is_some();
        let is_let_go = self.master.is_let_go();
        let process = self.master.process();
        let is_seen = has_ended || !is_let_go && process.is_seen() && process.children() == 0;
        is_seen.then(|| live_status(&self.slices, &self.resources))
    }
}

/// The kernel has refused a page of a log.
pub(super) fn no_memory_for_log() -> Failure {
    let why = "the kernel has no memory for what system calls have read and written (see vm.overcommit_memory and the limits of the \
               container); -spsysrecs or -spmsec with a smaller number need less at a time";
    Failure::Unsupported(why.into())
}

fn ended_early(exit: ExitStatus) -> Failure {
    match exit {
        ExitStatus::Signal(signal) => Failure::Killed(signal),
        ExitStatus::Code(code) => {
            Failure::Unsupported(format!("the app ended with {code} where superpin didn't see it"))
        }
    }
}
