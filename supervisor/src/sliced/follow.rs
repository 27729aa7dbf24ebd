//! Following a process in slices: reports come in, and whatever they mean is begun.

use std::time::Duration;

use tracee::{Change, ExitStatus, Parent, Report, Running, Stop, Stopped};

use super::log;
use super::run::{Phase, Sliced};
use crate::app::kill;
use crate::base::{Affinity, Failure, Moment, affinity};
use crate::command::Settings;
use crate::events::{ENDING, Taken};
use crate::follow::{Follower, JobStop, JobStops, NewProcess, Origin, Outcome, ProcessKind, Resources};
use crate::report::Boundary;
use crate::sliced::boundaries::{Cut, Next, Then, Timer};
use crate::sliced::master::{self, Process, Thread};
use crate::sliced::memory::busy_programs;
use crate::sliced::slices::{Ended, Slices};

/// How long to wait until an interrupt is tried again that came at a bad place.
const ASK_AGAIN: Duration = Duration::from_millis(1);

/// Follows a process in slices to its end. `is_first`: it is our child, and not one of a process that is followed.
pub fn follow<'a>(
    process: Stopped,
    origin: Origin,
    is_first: bool,
    settings: &Settings,
    resources: Resources<'a>,
) -> impl Follower<'a> + use<'a> {
    let pid = process.pid();
    let parent = if is_first { Parent::Tracer } else { Parent::Other };
    let mut sliced = Sliced {
        process: Process::new(pid, parent, settings),
        thread: Thread::new(pid),
        timer: Timer::default(),
        slice_time: Duration::from_millis(settings.slice_ms),
        grace: Duration::from_millis(settings.grace_ms),
        phase: Phase::Alone,
        slices: Slices::new(settings.max_running, settings.call_limit),
        affinity: Affinity::new(pid),
        resources,
        new_processes: Vec::new(),
        stops: JobStops::default(),
        failure: None,
        exit: None,
    };
    sliced.attempt(|sliced| sliced.begin(process, origin));
    sliced
}

impl<'a> Follower<'a> for Sliced<'a> {
    fn observe(&mut self, report: Report) {
        self.attempt(|sliced| sliced.look_at(report));
    }

    fn other_ended(&mut self, pid: i32, exit: ExitStatus) {
        self.attempt(|sliced| sliced.ended(pid, exit));
    }

    /// The master has used its CPU time. Inside a system call its exit is soon enough; otherwise it is interrupted.
    fn time_is_over(&mut self) {
        affinity::leave();
        // If its time was over before, this is to ask again.
        let slice = self.slices.recorded_mut();
        if slice.as_ref().is_some_and(|slice| slice.is_due()) || self.timer.is_over() {
            if let Some(slice) = slice {
                slice.set_due(true);
            }
            self.interrupt();
        } else {
            self.resources.statistics.given_more_time += 1;
        }
    }

    fn throttle_is_over(&mut self) {
        if self.thread.throttle_is_over() {
            self.interrupt();
        }
    }

    fn collector_answered(&mut self) {
        self.attempt(|sliced| sliced.resources.collector.take_answers(&mut sliced.resources.memory));
        self.attempt(Sliced::retry);
    }

    fn signal_sent(&mut self, info: &libc::siginfo_t, taken: Taken) {
        match self.exit {
            Some(_) if ENDING.contains(&info.si_signo) => self.fail(Failure::Interrupted),
            Some(_) => {}
            // The terminal has sent it to the app as well.
            None if info.si_code == libc::SI_KERNEL => {}
            None => self.process.pass(info, taken),
        }
    }

    fn job_stop(&self) -> Option<JobStop> {
        self.stops.now()
    }

    fn new_processes(&mut self) -> Vec<NewProcess> {
        std::mem::take(&mut self.new_processes)
    }

    fn is_over(&self) -> bool {
        self.exit.is_some() && (self.failure.is_some() || self.slices.is_empty())
    }

    fn conclude(mut self: Box<Self>) -> (Outcome, Resources<'a>) {
        self.slices.kill();
        self.resources.statistics.children = self.process.children();
        if let Some(file) = self.process.memory().changed_file() {
            // Whatever else went wrong, it probably did for this reason.
            self.failure = Some(Failure::Unsupported(format!(
                "{file} was changed after the app had mapped it: sliced mode (-sp 1) can't tell what the app saw of that. \
                 Serial mode is -sp 0"
            )));
        }
        (Outcome { exit: self.exit, failure: self.failure }, self.resources)
    }
}

impl Sliced<'_> {
    fn begin(&mut self, mut process: Stopped, origin: Origin) -> Result<(), Failure> {
        self.timer = Timer::new(self.process.pid())?;
        self.process.memory().files().tell(self.resources.memory.files()?);
        let Resources { kept, memory, statistics, .. } = &mut self.resources;
        kept.begin(self.process.pid(), memory, statistics);
        self.thread.begin(self.process.pid())?;
        let cut = match origin {
            Origin::Image => Cut { kind: Boundary::Exec, end: None, then: Then::Image },
            Origin::Copy(inherited) => {
                self.resources.name.clone_from(&inherited.name);
                self.process.inherit(&mut process, *inherited)?;
                self.thread.inherit(&mut process, self.process.gadget())?;
                Cut { kind: Boundary::Process, end: None, then: Then::Fork }
            }
        };
        self.cut(process, cut, Moment::now())
    }

    /// Does something that may fail. If the control of the master is lost by that, the master can't go on.
    fn attempt(&mut self, what: impl FnOnce(&mut Self) -> Result<(), Failure>) {
        match what(self) {
            Ok(()) => {}
            // Its end will be reported and says all.
            Err(Failure::Trace(error)) if error.is_gone() => {}
            Err(error) => {
                // While the master is looked at nobody else holds it: an error on the way leaves it standing still.
                let stands_still = self.failure.is_none() && matches!(self.phase, Phase::Alone);
                let lost = stands_still || matches!(error, Failure::Trace(_));
                self.fail(error);
                if lost && self.exit.is_none() {
                    kill(self.process.pid());
                }
            }
        }
    }

    /// A process other than the master has ended.
    fn ended(&mut self, pid: i32, exit: ExitStatus) -> Result<(), Failure> {
        if pid == self.resources.collector.pid() {
            return self.resources.collector.ended(exit, &mut self.resources.memory);
        }
        self.try_call_again()?;
        match self.slices.ended(pid, exit)? {
            Ended::Finished(number, slot) => {
                log::has_finished(number, slot.stats().verified != 0, slot.end_recurs());
                self.resources.statistics.finished(&slot.stats(), slot.result_len());
                self.resources.statistics.ended_at(number, slot.end(), &slot.stats(), slot.end_recurs());
                self.resources.collector.hand_over(number, slot)?;
                self.retry()
            }
            Ended::Again => {
                self.resources.statistics.begun_again += 1;
                Ok(())
            }
            Ended::Other => self.retry(),
        }
    }

    /// Something that the master may be waiting for has happened.
    fn retry(&mut self) -> Result<(), Failure> {
        if !self.slices.has_room(&self.resources.memory) {
            return Ok(());
        }
        match std::mem::replace(&mut self.phase, Phase::Alone) {
            Phase::Held(stopped, cut, since) => {
                self.resources.statistics.asleep_time += since.elapsed();
                self.cut(stopped, cut, Moment::now())
            }
            other => {
                self.phase = other;
                Ok(())
            }
        }
    }

    /// A process has ended that may have been what the master's call is waiting for: a slice of its own or of another's.
    fn try_call_again(&mut self) -> Result<(), Failure> {
        match std::mem::replace(&mut self.phase, Phase::Alone) {
            Phase::Waiting(stopped, since) if !busy_programs::are_there() => {
                self.resources.statistics.asleep_time += since.elapsed();
                self.resume(stopped, 0)
            }
            other => {
                self.phase = other;
                Ok(())
            }
        }
    }

    fn look_at(&mut self, report: Report) -> Result<(), Failure> {
        let since = Moment::now();
        if let Some(exit) = report.exit() {
            self.exit = Some(exit);
            self.process.memory().files().app_ended();
            self.process.memory().common().leaves();
            self.phase = Phase::Alone;
            affinity::leave();
            self.resources.statistics.app_ended();
            if self.slices.recorded().is_some() {
                let end = self.thread.end_of_killed().ok_or_else(|| ended_early(exit))?;
                self.resources.statistics.boundary(Boundary::Exit);
                if let Some(slice) = self.slices.recorded() {
                    log::comes_to_end(slice.number(), Boundary::Exit, &end);
                }
                let bound = self.cpu_bound();
                self.slices.end_recording(end, bound, &mut self.resources.statistics);
                self.slices.let_run();
            }
            return Ok(());
        }
        let Phase::Running(running) = std::mem::replace(&mut self.phase, Phase::Alone) else {
            // Nobody traces it any more.
            self.stops.reported(report.pid(), report.stopped_by());
            return Ok(());
        };
        let Change::Stopped(mut stopped, mut stop) = running.observe(report)? else { return Ok(()) };
        self.stops.reported(stopped.pid(), stop.stopped_by());
        if let Stop::Signal(info) = &mut stop {
            self.process.arrives(&mut stopped, info)?;
        }
        self.thread.comes_to(&mut stopped, &stop)?;
        self.resources.statistics.stops += 1;
        self.affinity.stopped(self.process.processor());
        let (stopped, stop) = match stop {
            Stop::Started { child, waits } => return self.born(stopped, child, waits),
            stop => (stopped, stop),
        };
        let slice = self.slices.recorded_mut();
        let (stopped, stop) = master::settle(&mut self.process, &mut self.thread, slice, stopped, stop)?;
        self.resources.statistics.recorded_in_process = self.process.recorded_inside();
        if self.process.take_lost_record() {
            self.fail(no_memory_for_log());
        }
        let Some(stop) = stop else {
            if self.failure.is_none() {
                self.thread.renew_interrupt(&stopped)?;
            }
            self.resources.statistics.stopped_time += since.elapsed();
            return self.resume(stopped, 0);
        };
        if self.failure.is_some() {
            return self.leave(stopped, stop);
        }
        let next = match self.slices.recorded_mut() {
            Some(slice) => master::handle(&mut self.process, &mut self.thread, slice, stopped, stop)?,
            None if self.thread.is_alone() => master::exit_alone(&mut self.process, &mut self.thread, stopped, stop)?,
            None => return self.after_the_end(stopped, stop),
        };
        match next {
            Next::Resume(mut stopped, signal) => {
                if let Some(slice) = self.slices.recorded().filter(|_| signal == 0) {
                    self.process.arm(&self.thread, slice, &mut stopped)?;
                }
                self.thread.renew_interrupt(&stopped)?;
                self.resume(stopped, signal)?;
            }
            Next::Stay(stopped) => self.phase = Phase::Running(stopped.stay_stopped()?),
            Next::Wait(stopped) => self.phase = Phase::Waiting(stopped, Moment::now()),
            Next::Cut(stopped, cut) => return self.cut(stopped, cut, since),
            Next::AskAgain(stopped) => {
                self.timer.set(ASK_AGAIN);
                self.resume(stopped, 0)?;
            }
            Next::GiveUp(stopped, stop, why) => {
                self.fail(why);
                return self.leave(stopped, stop);
            }
        }
        self.resources.statistics.stopped_time += since.elapsed();
        Ok(())
    }

    /// The app has started a process.
    fn born(&mut self, stopped: Stopped, child: Running, waits: bool) -> Result<(), Failure> {
        self.process.memory().is_born(child.pid(), waits);
        let kind = match (self.failure.is_some(), waits) {
            (true, _) => ProcessKind::Unfollowed,
            (false, true) => ProcessKind::VforkChild,
            (false, false) => ProcessKind::Copy(Box::new(self.process.inherited(&self.resources.name))),
        };
        self.new_processes.push(NewProcess { child, kind });
        self.resume(stopped, 0)
    }

    /// No slice is recorded any more: the app is on its way out.
    fn after_the_end(&mut self, stopped: Stopped, stop: Stop) -> Result<(), Failure> {
        match stop {
            Stop::Signal(info) => self.resume(stopped, info.si_signo),
            Stop::Group(_) => {
                self.phase = Phase::Running(stopped.stay_stopped()?);
                Ok(())
            }
            _ => self.resume(stopped, 0),
        }
    }
}

/// The kernel has refused a page of a log.
fn no_memory_for_log() -> Failure {
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
