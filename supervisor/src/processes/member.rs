//! One process of a run, from its start until its result is printed.

use std::io::IsTerminal;
use std::time::Duration;

use tracee::{ExitStatus, Report, Stopped};

use crate::app::{PendingSignals, send};
use crate::base::{Failure, status_line};
use crate::command::Settings;
use crate::events::{ENDING, Taken};
use crate::follow::{Follower, JobStop, JobStops, NewProcess, Origin, Resources};
use crate::report::{LiveStatus, report, unreached};
use crate::{serial, sliced};

/// CPU time of a serial run from which on slices would be felt.
const LONG_RUN: Duration = Duration::from_secs(1);

/// One process.
pub struct Member<'a> {
    /// Its number.
    pub pid: i32,
    /// Whether it is the app, and not something that the app has started.
    pub is_first: bool,
    stage: MemberStage<'a>,
}

enum MemberStage<'a> {
    /// It is followed.
    Follows(Box<dyn Follower<'a> + 'a>),
    /// Everything that ran has ended; its result is about to be printed.
    Prints(Box<Printing<'a>>),
    /// The app lives on natively, its result is printed: its end is this process's as well.
    Waits(JobStops, ProcessEnd),
}

struct Printing<'a> {
    /// `None`: it lives on natively.
    exit: Option<ExitStatus>,
    resources: Resources<'a>,
    asked: bool,
    failure: Option<Failure>,
}

/// What has become of a member.
pub enum Conclusion<'a> {
    /// It isn't over.
    Later(Member<'a>),
    /// It is.
    Done {
        /// What it executed.
        name: String,
        /// How it ended, or why it has no result.
        result: Result<ProcessEnd, Failure>,
    },
}

/// The end of a process whose result was printed.
pub struct ProcessEnd {
    /// Its exit status.
    pub status: i32,
    /// Whether the result is what was asked for.
    pub is_right: bool,
    /// Whether it isn't one: the process goes on natively.
    pub lives_on: bool,
}

impl<'a> Member<'a> {
    /// Starts to follow a process.
    pub fn new(
        process: Stopped,
        origin: Origin,
        is_first: bool,
        settings: &Settings,
        resources: Resources<'a>,
    ) -> Self {
        let pid = process.pid();
        let follower: Box<dyn Follower<'a> + 'a> = match settings.sliced {
            true => Box::new(sliced::follow(process, origin, is_first, settings, resources)),
            false => Box::new(serial::follow(process, origin, resources)),
        };
        Self { pid, is_first, stage: MemberStage::Follows(follower) }
    }

    /// Whether reports on this process or thread are for it.
    pub fn follows(&self, pid: i32) -> bool {
        match &self.stage {
            MemberStage::Follows(follower) => self.pid == pid || follower.has_thread(pid),
            MemberStage::Prints(_) => false,
            MemberStage::Waits(..) => self.pid == pid,
        }
    }

    /// A new thread of its process, or a process of a slice of it, before its first instruction.
    pub fn adopt(&mut self, new: Stopped, is_slice: bool) {
        match &mut self.stage {
            MemberStage::Follows(follower) if is_slice => follower.adopt_slice(new),
            MemberStage::Follows(follower) => follower.adopt_thread(new),
            MemberStage::Prints(_) | MemberStage::Waits(..) => {}
        }
    }

    /// A report on its process. Gives the processes that it has started.
    pub fn observe(&mut self, report: Report) -> Vec<NewProcess> {
        match &mut self.stage {
            MemberStage::Follows(follower) => {
                follower.observe(report);
                follower.new_processes()
            }
            MemberStage::Prints(_) => Vec::new(),
            MemberStage::Waits(stops, end) => {
                stops.reported(report.pid(), report.stopped_by());
                end.lives_on = report.exit().is_none();
                end.status = report.exit().map_or(end.status, ExitStatus::shell_status);
                Vec::new()
            }
        }
    }

    /// Another process has ended.
    pub fn other_ended(&mut self, pid: i32, exit: ExitStatus) {
        match &mut self.stage {
            MemberStage::Follows(follower) => follower.other_ended(pid, exit),
            MemberStage::Prints(printing) if pid == printing.resources.collector.pid() => {
                let Printing { resources, failure, .. } = printing.as_mut();
                *failure = resources.collector.ended(exit, &mut resources.memory, &mut resources.statistics).err();
            }
            MemberStage::Prints(printing) if pid == self.pid => printing.exit = Some(exit),
            MemberStage::Prints(_) | MemberStage::Waits(..) => {}
        }
    }

    /// Somebody wants it to go on natively.
    pub fn detach(&mut self) {
        if let MemberStage::Follows(follower) = &mut self.stage {
            follower.detach();
        }
    }

    /// What follows it, if it is `process` and not over.
    pub fn follower_of(&mut self, process: i32) -> Option<&mut (dyn Follower<'a> + 'a)> {
        match &mut self.stage {
            MemberStage::Follows(follower) if self.pid == process => Some(follower.as_mut()),
            _ => None,
        }
    }

    /// Some collector has answered.
    pub fn collector_answered(&mut self) {
        if let MemberStage::Follows(follower) = &mut self.stage {
            follower.collector_answered();
        }
    }

    /// Whether a signal with this number waits for its process.
    pub fn awaits(&self, signal: i32) -> bool {
        let waits = |pending: PendingSignals| pending.any() >> (signal - 1) & 1 != 0;
        matches!(self.stage, MemberStage::Follows(_)) && PendingSignals::of(self.pid).is_some_and(waits)
    }

    /// Somebody, or the terminal, has sent superpin a signal.
    pub fn signal_sent(&mut self, info: &libc::siginfo_t, taken: Taken) {
        match &mut self.stage {
            MemberStage::Follows(follower) => follower.signal_sent(info, taken),
            MemberStage::Prints(printing) if printing.exit.is_some_and(|exit| taken.has_ended(exit, info.si_signo)) => {
            }
            MemberStage::Prints(printing) if ENDING.contains(&info.si_signo) && info.si_signo != libc::SIGQUIT => {
                printing.failure = Some(Failure::Interrupted);
            }
            MemberStage::Prints(_) => {}
            // The terminal has sent it to the app as well.
            MemberStage::Waits(..) if info.si_code == libc::SI_KERNEL => {}
            MemberStage::Waits(..) => send(self.pid, info.si_signo),
        }
    }

    /// Gives the time after which this is to be asked again.
    pub fn look_again(&mut self) -> Option<Duration> {
        match &mut self.stage {
            MemberStage::Follows(follower) => follower.look_again(),
            MemberStage::Prints(_) | MemberStage::Waits(..) => None,
        }
    }

    /// How it gets on, if that can be shown.
    pub fn live_status(&mut self) -> Option<LiveStatus> {
        match &mut self.stage {
            MemberStage::Follows(follower) => follower.live_status(),
            MemberStage::Prints(_) | MemberStage::Waits(..) => None,
        }
    }

    /// The stop by a stopping signal that its process is in, if it is in one.
    pub fn job_stop(&self) -> Option<JobStop> {
        match &self.stage {
            MemberStage::Follows(follower) => follower.job_stop(),
            MemberStage::Prints(_) => None,
            MemberStage::Waits(stops, _) => stops.now(),
        }
    }

    /// Goes on if it is over: its result is printed.
    pub fn conclude(self, settings: &Settings) -> Conclusion<'a> {
        let mut printing = match self.stage {
            MemberStage::Follows(follower) if !follower.is_over() => {
                return Conclusion::Later(Self { stage: MemberStage::Follows(follower), ..self });
            }
            MemberStage::Follows(follower) => {
                let (outcome, mut resources) = follower.conclude();
                let exit = match (outcome.failure, outcome.exit) {
                    (None, None) if outcome.lives_on => None,
                    (None, Some(exit)) => Some(exit),
                    (failure, _) => {
                        let failure = failure.unwrap_or(Failure::Interrupted);
                        return failed(resources, failure, (!self.is_first).then_some(self.pid), settings);
                    }
                };
                resources.kept.save(&resources.memory, &mut resources.statistics);
                Box::new(Printing { exit, resources, asked: false, failure: None })
            }
            MemberStage::Prints(printing) => printing,
            MemberStage::Waits(stops, end) if end.lives_on => {
                return Conclusion::Later(Self { stage: MemberStage::Waits(stops, end), ..self });
            }
            MemberStage::Waits(_, end) => return Conclusion::Done { name: String::new(), result: Ok(end) },
        };
        let heading = settings.follow.then(|| format!("process {} ({})", self.pid, printing.resources.name));
        let process = (!self.is_first).then_some(self.pid);
        match printing.go_on(heading.as_deref(), settings) {
            Ok(false) => Conclusion::Later(Self { stage: MemberStage::Prints(printing), ..self }),
            Ok(true) => {
                let heading = heading.filter(|_| !self.is_first);
                let result = printing.finish(heading, process, settings);
                if let Ok(end) = &result
                    && end.lives_on
                    && self.is_first
                    && settings.attach.is_none()
                {
                    let end = ProcessEnd { ..*end };
                    return Conclusion::Later(Self { stage: MemberStage::Waits(JobStops::default(), end), ..self });
                }
                Conclusion::Done { name: printing.resources.name, result }
            }
            Err(failure) => failed(printing.resources, failure, process, settings),
        }
    }
}

/// There is no result. The report says why.
fn failed<'a>(resources: Resources<'a>, failure: Failure, process: Option<i32>, settings: &Settings) -> Conclusion<'a> {
    if let Err(unwritten) = report(settings, &resources.statistics, Some(&failure), process) {
        tell!("superpin: {unwritten}");
    }
    Conclusion::Done { name: resources.name, result: Err(failure) }
}

impl Printing<'_> {
    /// Whether the total is printed.
    fn go_on(&mut self, heading: Option<&str>, settings: &Settings) -> Result<bool, Failure> {
        let Resources { collector, memory, statistics, .. } = &mut self.resources;
        collector.take_answers(memory, statistics)?;
        if collector.is_idle() && !self.asked {
            // Who wants to know what the run cost gets that with a result in JSON as well.
            for routine in settings.report.iter().flat_map(|_| statistics.routines()) {
                collector.tell_routine(&routine.line())?;
            }
            // Of one that lives on it isn't known; a tool is told what it is told of one that ends well.
            let exit = self.exit.unwrap_or(ExitStatus::Code(0));
            status_line::erase();
            collector.fini(statistics.worth(), exit, heading)?;
            self.asked = true;
        }
        match self.failure.take() {
            Some(failure) if !collector.is_finished() => Err(failure),
            _ => Ok(collector.is_finished()),
        }
    }

    /// What is to be told besides the total.
    fn finish(
        &self,
        heading: Option<String>,
        process: Option<i32>,
        settings: &Settings,
    ) -> Result<ProcessEnd, Failure> {
        let of = heading.map(|heading| format!("{heading}: ")).unwrap_or_default();
        let statistics = &self.resources.statistics;
        let worth = statistics.worth();
        let is_right = worth.is_right() || settings.accepts_ambiguous;
        if !worth.is_right() {
            let status = if is_right { "" } else { " The exit status is 125; with -ambiguous accept it is the app's." };
            tell!("superpin: {of}result: {worth}: {}{status}", statistics.reasons());
        }
        // Of processes that the app has started many may be too short for it.
        if process.is_none()
            && let Some(why) = unreached(&settings.region, statistics.progress.as_ref())
        {
            tell!("superpin: {of}{why}");
        }
        report(settings, statistics, None, process)?;
        if settings.hints && process.is_none() && self.gains_by_slices(settings) && std::io::stderr().is_terminal() {
            tell!(
                "superpin: this run was serial: with `-sp 1` in front the same total comes sooner, from slices in parallel (`-hints 0`: no such hints)"
            );
        }
        let status = self.exit.map_or(0, ExitStatus::shell_status);
        Ok(ProcessEnd { status, is_right, lives_on: self.exit.is_none() })
    }

    /// Whether a run like this one, which was serial, would gain by slices, as far as this one tells.
    fn gains_by_slices(&self, settings: &Settings) -> bool {
        let statistics = &self.resources.statistics;
        !settings.sliced && !settings.changes_app && statistics.threads == 0 && statistics.instrumented() >= LONG_RUN
    }
}
