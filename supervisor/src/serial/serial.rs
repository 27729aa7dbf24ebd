//! Serial mode: the app itself is taken over at its entry point and runs under translation.
//!
//! The runtime inside does everything, system calls and signals included. The control process only passes signals
//! on, takes the app over again after each exec, and learns the end. A result is complete when the slot says so, which the
//! runtime makes it say before it really exits or execs.

use std::collections::BTreeMap;
use std::time::Duration;

use bubble::behind::Behind;
use bubble::boot::RunMode as Role;
use bubble::region::{Progress, pass};
use bubble::shared::state;
use tracee::{Change, ExitStatus, Mode, Report, Running, Stop, Stopped};

use super::departure::{self, Departed, Parting};
use super::patience::{Advice, Patience};
use super::throttle::Throttle;
use crate::app::{Borrowed, Prepared, Standing, note_all};
use crate::base::Failure;
use crate::events::{ENDING, Passing, Taken};
use crate::follow::{Follower, JobStop, JobStops, NewProcess, Origin, Outcome, Resources};
use crate::run_memory::{ClaimedSlot, StepNames};
use crate::takeover::{self, enter, is_by_name, take_over};

/// Follows a process to its end.
pub fn follow<'a>(process: Stopped, origin: Origin, resources: Resources<'a>) -> impl Follower<'a> {
    let pid = process.pid();
    let new_processes = Vec::new();
    let threads = BTreeMap::new();
    let mut serial = Serial {
        pid,
        resources,
        app: None,
        threads,
        joining: Vec::new(),
        slot: None,
        progress: Progress::default(),
        values: Vec::new(),
        has_stopped: false,
        images: 0,
        new_processes,
        throttle: Throttle::default(),
        stops: JobStops::default(),
        passing: Passing::new(pid),
        patience: Patience::default(),
        asked_by: 0,
        departed: Departed::default(),
        parting: Parting::default(),
        attached: None,
        stops_again: false,
        failure: None,
        exit: None,
    };
    let started = Throttle::new(pid).and_then(|throttle| {
        serial.throttle = throttle;
        match origin {
            Origin::Image => serial.start_image(process, Behind::default()),
            Origin::Copy(inherited) => serial.start_copy(process, *inherited),
            Origin::Running { is_stopped, others } => serial.start_running(Standing { process, is_stopped, others }),
        }
    });
    serial.check(started);
    serial
}

pub(super) struct Serial<'a> {
    pub(super) pid: i32,
    pub(super) resources: Resources<'a>,
    pub(super) app: Option<Running>,
    /// Its other threads.
    pub(super) threads: BTreeMap<i32, Running>,
    /// Those that it had before it was attached to, and that aren't in the image yet.
    pub(super) joining: Vec<Stopped>,
    pub(super) slot: Option<ClaimedSlot>,
    /// How far the run had come when the program was last replaced by another.
    progress: Progress,
    /// What the tool had counted by itself then, if it does.
    values: Vec<u8>,
    /// The tool has looked its last.
    has_stopped: bool,
    images: u64,
    new_processes: Vec<NewProcess>,
    pub(super) throttle: Throttle,
    stops: JobStops,
    passing: Passing,
    patience: Patience,
    /// The signal by which somebody has asked for the end.
    asked_by: i32,
    /// Threads that have left the image.
    pub(super) departed: Departed,
    pub(super) parting: Parting,
    /// Of an app that was running: what it is to be given back, and what the kernel knows of its thread.
    pub(super) attached: Option<(Borrowed, [u64; 3])>,
    /// It was stopped by a stopping signal when it was attached to.
    pub(super) stops_again: bool,
    failure: Option<Failure>,
    exit: Option<ExitStatus>,
}

impl<'a> Follower<'a> for Serial<'a> {
    fn observe(&mut self, report: Report) {
        let outcome = if report.pid() == self.pid { self.look_at(report) } else { self.look_at_thread(report) };
        self.check(outcome);
    }

    fn has_thread(&self, tid: i32) -> bool {
        let joins = self.joining.iter().any(|thread| thread.pid() == tid);
        self.threads.contains_key(&tid) || self.departed.has(tid) || joins
    }

    fn adopt_thread(&mut self, thread: Stopped) {
        // An error means that it has been killed.
        if let Ok(running) = thread.resume(Mode::Free, 0) {
            self.threads.insert(running.pid(), running);
        }
    }

    fn other_ended(&mut self, pid: i32, exit: ExitStatus) {
        if pid == self.resources.collector.pid() {
            let ended = {
                let Resources { collector, memory, statistics, .. } = &mut self.resources;
                collector.ended(exit, memory, statistics)
            };
            ended.unwrap_or_else(|error| self.fail(error));
        }
    }

    fn throttle_is_over(&mut self) {
        self.throttle.look(self.app.as_ref(), self.slot.as_ref());
    }

    fn collector_answered(&mut self) {
        if let Err(error) = {
            let Resources { collector, memory, statistics, .. } = &mut self.resources;
            collector.take_answers(memory, statistics)
        } {
            self.fail(error);
        }
    }

    fn detach(&mut self) {
        if let (Some(slot), Parting::Not) = (&self.slot, self.parting) {
            slot.ask_to_depart();
            self.parting = Parting::Asked;
            self.interrupt_all();
        }
    }

    fn signal_sent(&mut self, info: &libc::siginfo_t, taken: Taken) {
        if let Some(slot) = self.slot.as_ref().filter(|_| ENDING.contains(&info.si_signo)) {
            let [_, delivered] = slot.signals();
            self.patience.asked(delivered);
            self.asked_by = info.si_signo;
        }
        // The terminal has sent it to the app as well.
        if self.exit.is_none() && info.si_code != libc::SI_KERNEL {
            self.passing.pass(info, taken);
        }
    }

    fn look_again(&mut self) -> Option<Duration> {
        if let Some(again) = self.adopt_others() {
            return Some(again);
        }
        if self.slot.as_ref().is_some_and(ClaimedSlot::departs) {
            return Some(self.departed.wait_for().unwrap_or_else(|| {
                self.interrupt_all();
                departure::AGAIN
            }));
        }
        let slot = self.slot.as_ref().filter(|slot| slot.state() < state::FINISHED)?;
        match self.patience.advice(slot.signals()) {
            Advice::GoOn => None,
            Advice::LookAgain(after) => Some(after),
            Advice::Tell => {
                tell!(
                    "superpin: the tool hasn't come back to the program since signal {} was sent; sent once more, it ends the run without a result",
                    self.asked_by
                );
                None
            }
            Advice::End => {
                self.fail(Failure::ToolIsBusy(self.asked_by));
                // SAFETY: kill has no memory preconditions; the process hasn't been reaped.
                unsafe { libc::kill(self.pid, libc::SIGKILL) };
                None
            }
        }
    }

    fn job_stop(&self) -> Option<JobStop> {
        self.stops.now()
    }

    fn new_processes(&mut self) -> Vec<NewProcess> {
        std::mem::take(&mut self.new_processes)
    }

    fn is_over(&self) -> bool {
        self.exit.is_some() || self.parting == Parting::Done
    }

    fn conclude(self: Box<Self>) -> (Outcome, Resources<'a>) {
        let lives_on = self.exit.is_none() && self.parting == Parting::Done;
        (Outcome { exit: self.exit, failure: self.failure, lives_on }, self.resources)
    }
}

impl Serial<'_> {
    fn check(&mut self, outcome: Result<(), Failure>) {
        match outcome {
            Ok(()) => {}
            // A process that has ended is no failure of its own: its end says what happened.
            Err(Failure::Trace(trace)) if trace.is_gone() => {}
            // It isn't ours: it goes on when this process has ended.
            Err(error) if self.attached.is_some() => {
                self.fail(error);
                self.parting = Parting::Done;
            }
            Err(error) => {
                self.fail(error);
                // Nothing of the app's would be right any more.
                // SAFETY: kill has no memory preconditions; the process hasn't been reaped.
                unsafe { libc::kill(self.pid, libc::SIGKILL) };
            }
        }
    }

    pub(super) fn fail(&mut self, error: Failure) {
        self.failure.get_or_insert(error);
    }

    pub(super) fn start(&mut self, mut process: Stopped, prepared: Prepared, behind: Behind) -> Result<(), Failure> {
        let Resources { kept, memory, statistics, .. } = &mut self.resources;
        kept.begin(self.pid, memory, statistics);
        note_all(self.pid, &memory.files()?);
        let slot = self.resources.memory.claim(state::RELEASED)?;
        slot.set_pass(pass::ONLY, &self.progress);
        if !self.values.is_empty() {
            slot.set_values(&self.values)?;
        }
        let site = takeover::Site {
            mode: Role::Serial,
            slot: slot.index(),
            file_pages: &[],
            snapshot: None,
            forked: None,
            signal_area: machine::signal_area::ask()
                .map_err(|source| Failure::System { action: "find out what a signal frame holds", source })?,
            is_traced: false,
            others: self.joining.len() as u64,
            registered: self.attached.as_ref().map_or([0; 3], |(_, registered)| *registered),
        };
        let known = takeover::Known {
            slice: self.images,
            signal_mask: process.signal_mask()?,
            brk: prepared.brk,
            behind,
            tid: self.pid,
            shares_memory: false,
        };
        let slot = self.slot.insert(slot);
        self.images += 1;
        let by_name = is_by_name(self.pid);
        let entered =
            enter(&mut process, prepared.gadget, site.mode, by_name, self.resources.image, &self.resources.memory)?;
        let state = takeover::capture(&process, known)?;
        slot.steps = take_over(&mut process, entered, &state, &site, self.resources.image, &self.resources.memory)?;
        if std::mem::take(&mut self.stops_again) {
            process.interrupt()?;
        }
        self.app = Some(process.resume(Mode::Free, 0)?);
        Ok(())
    }

    fn look_at(&mut self, report: Report) -> Result<(), Failure> {
        if let Some(exit) = report.exit() {
            self.resources.statistics.app_ended();
            self.exit = Some(exit);
            return self.take_result(Some(exit));
        }
        let Some(app) = self.app.take() else {
            // Nobody traces it any more.
            self.stops.reported(report.pid(), report.stopped_by());
            return Ok(());
        };
        let Change::Stopped(stopped, stop) = app.observe(report)? else { return Ok(()) };
        let Some(mut stopped) = self.unless_departed(stopped, &stop)? else { return Ok(()) };
        if let Some(slot) = &self.slot
            && self.throttle.stopped(&mut stopped, &stop, slot)?
        {
            self.app = Some(stopped.resume(self.throttle.mode(), 0)?);
            return Ok(());
        }
        self.app = Some(match stop {
            Stop::Exec => {
                // It has ended all others.
                self.threads.clear();
                self.joining.clear();
                self.attached.iter_mut().for_each(|(borrowed, registered)| {
                    borrowed.forget();
                    *registered = [0; 3];
                });
                // It went on natively, and does so.
                let has_given_up = self.slot.as_ref().is_none_or(|slot| slot.state() == state::FAILED);
                match self.take_result(None) {
                    Err(why) if has_given_up => self.fail(why),
                    taken => taken?,
                }
                if !has_given_up && !self.has_stopped {
                    let number = stopped.registers()?.syscall_number() as u64;
                    return self.start_image(stopped.finish_exec()?, Behind::exec(number));
                }
                stopped.resume(Mode::Free, 0)?
            }
            stop => self.go_on(stopped, stop, self.throttle.mode())?,
        });
        Ok(())
    }

    fn look_at_thread(&mut self, report: Report) -> Result<(), Failure> {
        let tid = report.pid();
        let Some(thread) = self.threads.remove(&tid) else {
            self.departed.forget(tid);
            return Ok(());
        };
        let Change::Stopped(stopped, stop) = thread.observe(report)? else { return self.part_if_all_departed() };
        let Some(stopped) = self.unless_departed(stopped, &stop)? else { return Ok(()) };
        let running = self.go_on(stopped, stop, Mode::Free)?;
        self.threads.insert(tid, running);
        Ok(())
    }

    /// What any thread of the app has stopped for.
    fn go_on(&mut self, mut stopped: Stopped, stop: Stop, mode: Mode) -> Result<Running, Failure> {
        self.stops.reported(stopped.pid(), stop.stopped_by());
        Ok(match stop {
            Stop::Started { child, waits } => {
                let kind = self.kind_of_child(&stopped, &child, waits)?;
                self.new_processes.push(NewProcess { child, kind });
                stopped.resume(mode, 0)?
            }
            Stop::Signal(mut info) => {
                self.passing.arrives(&mut stopped, &mut info)?;
                stopped.resume(mode, info.si_signo)?
            }
            Stop::Group(_) => stopped.stay_stopped()?,
            Stop::Interrupted => {
                if let Some(slot) = self.slot.as_ref().filter(|slot| slot.departs()) {
                    self.departed.interrupted(&mut stopped, self.pid, slot)?;
                }
                stopped.resume(mode, 0)?
            }
            _ => stopped.resume(mode, 0)?,
        })
    }

    /// The program in the slot has ended by itself (`exit`) or has been replaced by another.
    pub(super) fn take_result(&mut self, exit: Option<ExitStatus>) -> Result<(), Failure> {
        let Some(slot) = self.slot.take() else { return Ok(()) };
        let slice = self.images - 1;
        match (slot.state(), exit) {
            (state::FINISHED, _) => {
                self.progress = slot.ends();
                self.resources.statistics.progress = Some(self.progress);
                self.values = slot.values()?;
                self.has_stopped |= slot.has_stopped();
                self.resources.statistics.finished(&slot.stats(), slot.result_len());
                let Resources { collector, statistics, .. } = &mut self.resources;
                collector.hand_over(slice, slot, statistics)
            }
            (state::FAILED, _) => Err(Failure::Serial(slot.report())),
            (_, Some(ExitStatus::Signal(signal))) => Err(Failure::Killed(signal)),
            (_, exit) => Err(Failure::Serial(unfinished(exit, &slot.steps))),
        }
    }
}

fn unfinished(exit: Option<ExitStatus>, steps: &StepNames) -> String {
    match exit {
        Some(ExitStatus::Code(code)) => match steps.failed(code) {
            Some(step) => format!("the app could not be taken over: it failed to {step}"),
            None => format!("the app ended with {code} before its result was complete"),
        },
        _ => "the app was replaced (exec) before its result was complete".into(),
    }
}
