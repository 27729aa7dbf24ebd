//! Following a process in slices: reports come in, and whatever they mean is begun.

use syscall_replay::is_restart;
use tracee::{Change, ExitStatus, Parent, Report, Running, Stop, Stopped};

use super::begin_end::no_memory_for_log;
use super::cut::Run;
use super::log;
use super::turns::Begins;
use crate::base::{Affinity, Failure, Moment, affinity, processor};
use crate::command::Settings;
use crate::events::{ENDING, Taken};
use crate::follow::{Follower, JobStop, JobStops, NewProcess, Origin, Outcome, ProcessKind, Resources};
use crate::report::LiveStatus;
use crate::sliced::boundaries::{Next, lends_all};
use crate::sliced::slices::Ended;

/// Follows a process in slices to its end. `is_first`: it isn't one that a followed process has started.
pub fn follow<'a>(
    process: Stopped,
    origin: Origin,
    is_first: bool,
    settings: &Settings,
    resources: Resources<'a>,
) -> impl Follower<'a> + use<'a> {
    let pid = process.pid();
    let is_child = is_first && !matches!(origin, Origin::Running { .. });
    let parent = if is_child { Parent::Tracer } else { Parent::Other };
    let mut sliced = Sliced {
        run: Run::new(pid, parent, settings, resources),
        affinity: Affinity::new(),
        is_measured: settings.report.is_some() || settings.timeline.is_some(),
        ends_app: settings.ends_app,
        stops: JobStops::default(),
        new_processes: Vec::new(),
    };
    sliced.attempt(|sliced| sliced.run.begin(process, origin));
    sliced
}

/// A process that is followed in slices.
struct Sliced<'a> {
    run: Run<'a>,
    affinity: Affinity,
    /// The report will say how long the master stood still.
    is_measured: bool,
    /// The app ends when the tool has looked its last.
    ends_app: bool,
    /// The master's.
    stops: JobStops,
    new_processes: Vec<NewProcess>,
}

impl<'a> Follower<'a> for Sliced<'a> {
    fn observe(&mut self, report: Report) {
        self.attempt(|sliced| sliced.look_at(report));
    }

    fn has_thread(&self, tid: i32) -> bool {
        self.run.master.has_thread(tid) || self.run.traced.has(tid)
    }

    fn adopt_slice(&mut self, process: Stopped) {
        // An error means that it was killed.
        let _ = self.run.traced.release(process);
    }

    fn adopt_thread(&mut self, thread: Stopped) {
        self.attempt(|sliced| sliced.run.adopt(thread));
    }

    fn turn_may_be_over(&mut self) {
        self.attempt(|sliced| {
            let is_app_stopped = sliced.stops.now().is_some();
            sliced.run.turn_may_be_over(is_app_stopped);
            Ok(())
        });
    }

    fn other_ended(&mut self, pid: i32, exit: ExitStatus) {
        self.attempt(|sliced| sliced.ended(pid, exit));
    }

    fn detach(&mut self) {
        self.run.detach();
    }

    fn time_is_over(&mut self) {
        affinity::leave();
        self.run.time_is_over();
    }

    fn throttle_is_over(&mut self) {
        let master = self.run.master();
        if master.thread().throttle_is_over() {
            master.interrupt();
        }
    }

    fn collector_answered(&mut self) {
        self.attempt(|sliced| {
            let Resources { collector, memory, statistics, .. } = sliced.run.resources();
            collector.take_answers(memory, statistics)?;
            match collector.take_put_together() {
                0 => Ok(()),
                slices => {
                    let ended = sliced.run.slices().were_put_together(slices)?;
                    sliced.went_on(ended)
                }
            }
        });
        self.attempt(|sliced| sliced.run.retry());
    }

    fn signal_sent(&mut self, info: &libc::siginfo_t, taken: Taken) {
        match self.run.master().exit() {
            Some(exit) if taken.has_ended(exit, info.si_signo) => {}
            Some(_) if ENDING.contains(&info.si_signo) => self.run.fail(Failure::Interrupted),
            Some(_) => {}
            // The terminal has sent it to the app as well.
            None if info.si_code == libc::SI_KERNEL => {}
            None => self.run.master().process().pass(info, taken),
        }
    }

    fn live_status(&mut self) -> Option<LiveStatus> {
        self.run.live_status()
    }

    fn job_stop(&self) -> Option<JobStop> {
        self.stops.now()
    }

    fn new_processes(&mut self) -> Vec<NewProcess> {
        std::mem::take(&mut self.new_processes)
    }

    fn is_over(&self) -> bool {
        self.run.is_over()
    }

    fn conclude(self: Box<Self>) -> (Outcome, Resources<'a>) {
        self.run.conclude()
    }
}

impl Sliced<'_> {
    /// Does something that may fail, and may have a thread want its turn, or give it up.
    fn attempt(&mut self, what: impl FnOnce(&mut Self) -> Result<(), Failure>) {
        let outcome = what(self);
        self.check(outcome);
        let given = self.give_turns();
        self.check(given);
    }

    /// If the control of the master is lost by a failure, the master can't go on.
    fn check(&mut self, outcome: Result<(), Failure>) {
        match outcome {
            Ok(()) => {}
            // Its end will be reported and says all.
            Err(Failure::Trace(error)) if error.is_gone() => {}
            Err(error) => {
                let is_lost = self.run.master().is_lost_by(&error);
                self.run.fail(error);
                if is_lost {
                    self.run.master().kill();
                }
            }
        }
    }

    /// A process other than the master has ended.
    fn ended(&mut self, pid: i32, exit: ExitStatus) -> Result<(), Failure> {
        let Resources { collector, memory, statistics, .. } = self.run.resources();
        if pid == collector.pid() {
            return collector.ended(exit, memory, statistics);
        }
        self.run.try_call_again()?;
        let ended = self.run.slices.ended(pid, exit, &mut self.run.resources.statistics)?;
        self.went_on(ended)
    }

    /// What follows from that slices have got on.
    fn went_on(&mut self, ended: Ended) -> Result<(), Failure> {
        while let Some(slot) = self.run.slices().take_next_counted() {
            self.run.resources().collector.put_together(slot)?;
        }
        match ended {
            Ended::Finished(slices, counted) => {
                self.run.resources().statistics.counted(&counted);
                slices
                    .iter()
                    .filter(|(_, slot)| slot.has_stopped())
                    .for_each(|(n, _)| self.run.slices().stopped_in(*n));
                let last = self.run.slices().last();
                let Resources { statistics, collector, memory, .. } = self.run.resources();
                statistics.discarded += last.map_or(0, |last| collector.discard_behind(last, memory));
                for (number, slot) in slices {
                    if last.is_some_and(|last| number > last) {
                        statistics.discarded += 1;
                        memory.release(slot);
                        continue;
                    }
                    log::has_finished(number, slot.stats().verified != 0, slot.end_recurs());
                    statistics.finished(&slot.stats(), slot.result_len());
                    statistics.ended_at(number, slot.end(), &slot.stats(), slot.end_recurs());
                    collector.hand_over(number, slot, statistics)?;
                }
                if let Some(stopped) = self.run.slices().has_stopped_in() {
                    self.run.resources().statistics.stopped_in(stopped);
                }
                if self.run.slices().last_of_all().is_some() {
                    self.run.tool_looks_no_more(self.ends_app);
                }
                self.run.retry()
            }
            Ended::Again => {
                self.run.resources().statistics.begun_again += 1;
                Ok(())
            }
            Ended::Other => self.run.retry(),
        }
    }

    /// A slice's process that is traced has stopped or ended.
    fn slice_reports(&mut self, report: Report) -> Result<(), Failure> {
        let pid = report.pid();
        if let Some(exit) = report.exit() {
            self.run.traced.ends(pid);
            return self.ended(pid, exit);
        }
        let forked = self.run.traced.stops(report)?;
        self.new_processes.extend(forked.map(|child| NewProcess { child, kind: ProcessKind::Slice }));
        Ok(())
    }

    fn look_at(&mut self, report: Report) -> Result<(), Failure> {
        // To ask the time takes a call each time, as long as this process shares a processor with the master.
        let since = self.is_measured.then(Moment::now);
        let tid = report.pid();
        if self.run.traced.has(tid) {
            return self.slice_reports(report);
        }
        if let Some(exit) = report.exit() {
            return match tid == self.run.master().process().pid() {
                true => self.run.app_ended(exit),
                false => self.run.thread_ended(tid),
            };
        }
        if report.is_exec() && !self.run.master().is_let_go() {
            self.run.program_is_executed(&report);
        }
        if self.run.master().process().passes_turn_on(tid) {
            return match self.run.gathers(report, &mut self.stops)? {
                Some((stopped, stop)) => self.stands(stopped, stop, since),
                None => Ok(()),
            };
        }
        let takes_turns = !self.run.master().is_let_go() && !self.run.is_after_the_end();
        let master = self.run.master();
        match master.has_other(tid) {
            // Those in the recorder's care are let go first.
            true if takes_turns || !master.process().is_seen() => {
                return master.comes(report, &mut self.stops, takes_turns);
            }
            true => master.select(tid),
            false => {}
        }
        let Some(running) = master.is_reported() else {
            // Nobody traces it any more.
            self.stops.reported(report.pid(), report.stopped_by());
            return Ok(());
        };
        let Change::Stopped(stopped, stop) = running.observe(report)? else { return Ok(()) };
        self.stands(stopped, stop, since)
    }

    /// Gives the turn to threads that want it, as long as nobody has it.
    fn give_turns(&mut self) -> Result<(), Failure> {
        while let Some(begins) = self.run.next_turn()? {
            let since = self.is_measured.then(Moment::now);
            match begins {
                Begins::Ready(stopped) => self.run.resume(stopped, 0)?,
                Begins::At(stopped, stop) => self.stands(stopped, stop, since)?,
            }
        }
        self.run.watch_turn();
        Ok(())
    }

    /// The thread that has the turn stands at a stop, which is looked at since then.
    fn stands(&mut self, mut stopped: Stopped, mut stop: Stop, since: Option<Moment>) -> Result<(), Failure> {
        let master = self.run.master();
        self.stops.reported(stopped.pid(), stop.stopped_by());
        if let Stop::Signal(info) = &mut stop {
            master.process().arrives(&mut stopped, info)?;
            master.thread().arrives_again(&mut stopped, info)?;
        }
        master.thread().comes_to(&mut stopped, &stop)?;
        self.affinity.stopped(&mut master.thread().processor);
        self.run.resources().statistics.stops += 1;
        let (stopped, stop) = match stop {
            Stop::Started { child, waits } => return self.born(stopped, child, waits),
            stop => (stopped, stop),
        };
        if let Some(signal) = self.run.master().passes_by(&stop) {
            self.run.master().thread().renew_interrupt(&stopped)?;
            return self.run.master().resume(stopped, signal);
        }
        let was_seen = self.run.master().process().is_seen();
        let (stopped, stop) = self.run.take_back(stopped, stop)?;
        self.run.release_from_care()?;
        if self.run.master().is_let_go() && !was_seen {
            return self.run.lets_go(stopped, stop);
        }
        if self.run.master().process().take_lost_record() {
            self.run.fail(no_memory_for_log());
        }
        let master = self.run.master();
        let Some(stop) = stop else {
            if !master.is_let_go() {
                master.thread().renew_interrupt(&stopped)?;
            }
            self.run.resources().statistics.stopped_time += since.map(Moment::elapsed).unwrap_or_default();
            return self.run.master().resume(stopped, 0);
        };
        if master.is_let_go() {
            return master.leave(stopped, stop);
        }
        if let (true, Stop::SyscallExit { result }) = (self.run.detaches(), &stop)
            && is_restart(*result as u64)
            && let Some(number) = self.run.master().thread().call_number()
        {
            return self.run.leave_in_call(stopped, stop, number);
        }
        if self.run.is_after_the_end() {
            return self.run.after_the_end(stopped, stop);
        }
        self.run.turn.counts_stop();
        if matches!(stop, Stop::Interrupted) {
            self.run.ends_spin(&stopped);
        }
        if let Stop::SyscallEntry { number, .. } = &stop
            && processor::matters_to(*number)
        {
            self.run.master().give_processors_back();
        }
        if matches!(stop, Stop::SyscallExit { .. }) && self.run.is_about_to_die() {
            return self.run.lets_others_go_first(stopped, stop);
        }
        match self.run.next(stopped, stop)? {
            Next::Resume(stopped, signal) => {
                self.run.tell_of_birth()?;
                match signal == 0 && self.run.gives_way(&stopped)? {
                    true => self.run.give_way(stopped)?,
                    false => self.run.resume(stopped, signal)?,
                }
                self.run.hurries_call();
            }
            Next::Ends(stopped) => self.run.first_ends(stopped)?,
            Next::Stay(stopped) => self.run.master().stay(stopped)?,
            Next::Wait(stopped) => self.run.master().wait(stopped),
            Next::Cut(stopped, cut) => {
                if let Some((stopped, cut)) = self.run.gives_way_at_point(stopped, cut)? {
                    return self.run.cut(stopped, cut, since.unwrap_or_else(Moment::now));
                }
            }
            Next::AskAgain(stopped) => self.run.ask_again(stopped)?,
            Next::GiveUp(stopped, stop, why) => {
                self.run.fail(why);
                return self.run.master().leave(stopped, stop);
            }
        }
        self.run.resources().statistics.stopped_time += since.map(Moment::elapsed).unwrap_or_default();
        Ok(())
    }

    /// The app has started a process.
    fn born(&mut self, stopped: Stopped, child: Running, waits: bool) -> Result<(), Failure> {
        let registers = stopped.registers()?;
        let number = registers.syscall_number() as u64;
        let is_lent = waits && lends_all(number, &registers.app().syscall_args(), &stopped);
        let name = self.run.resources().name.clone();
        let master = self.run.master();
        let is_followed = !master.is_let_go();
        if is_followed && master.thread().starts_thread() {
            self.new_processes.push(NewProcess { child, kind: ProcessKind::Thread });
            return self.run.master().resume(stopped, 0);
        }
        let company = master.process().memory().is_born(child.pid(), is_lent && is_followed);
        let kind = match (is_followed, waits) {
            (false, _) => ProcessKind::Unfollowed,
            (true, true) => ProcessKind::VforkChild(company),
            (true, false) => ProcessKind::Copy(Box::new(master.process().inherited(&name))),
        };
        self.new_processes.push(NewProcess { child, kind });
        self.run.master().resume(stopped, 0)
    }
}
