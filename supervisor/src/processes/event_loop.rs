//! The loop: sleep until something happens, pass each report to whom it is about, go on.
//!
//! Each process has a [`Follower`] of its own, with its own run memory and collector. So its result doesn't depend on what the others do, and none waits
//! for another. This process adopts orphans: the slices of every followed process become its children.

use std::collections::BTreeMap;
use std::time::Duration;

use tracee::{Stopped, next_report};

use super::early_stops::EarlyStops;
use super::job_control::{Followed, Job};
use super::live::Live;
use super::member::{Conclusion, Member};
use super::vfork_child::{VforkChild, VforkStop, has_other_numbers};
use crate::app::name_of;
use crate::base::{Doing, Failure, Moment, OWN_FAILURE};
use crate::command::{Settings, ToolImage};
use crate::events::{Alarm, ENDING, Event, Events, Purpose, Taken, let_through};
use crate::follow::{Follower, NewProcess, Origin, ProcessKind, Resources};
use crate::report::log;

/// All that are followed.
pub struct Processes<'a> {
    settings: &'a Settings,
    image: &'a ToolImage,
    members: Vec<Member<'a>>,
    vfork_children: BTreeMap<i32, VforkChild>,
    early_stops: EarlyStops,
    status: Option<Result<i32, Failure>>,
    has_failed: bool,
    /// Of a process that was attached to.
    was_asked_to_end: bool,
    job: Job,
    /// The signals that were sent to superpin, a bit each.
    signals_taken: u64,
}

impl<'a> Processes<'a> {
    /// None yet.
    pub fn new(settings: &'a Settings, image: &'a ToolImage) -> Self {
        if settings.follow {
            // SAFETY: this call takes no pointer. Kernels before 3.4 don't know it, and superpin doesn't run there.
            unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        }
        Self {
            settings,
            image,
            members: Vec::new(),
            vfork_children: BTreeMap::new(),
            early_stops: EarlyStops::default(),
            status: None,
            has_failed: false,
            was_asked_to_end: false,
            job: Job::default(),
            signals_taken: 0,
        }
    }

    /// Follows the app, and what it starts, to the end of all. Gives the exit status of the app.
    ///
    /// # Errors
    /// If the app has no result.
    pub fn run(
        mut self,
        app: Stopped,
        origin: Origin,
        resources: Resources<'a>,
        events: &Events,
    ) -> Result<i32, Failure> {
        self.members.push(Member::new(app, origin, true, self.settings, resources));
        let alarm = Alarm::new(libc::CLOCK_MONOTONIC, Purpose::Detach, std::process::id() as i32)?;
        self.settings.detach_after.into_iter().for_each(|time| alarm.set(time));
        let live = Live::new(self.settings);
        loop {
            self.drain()?;
            self.conclude();
            if self.members.is_empty() && self.vfork_children.is_empty() {
                break;
            }
            let most = self.stop_with_app();
            let most =
                self.members.iter_mut().filter_map(Member::look_again).chain(most).chain(log::look_again()).min();
            self.wait(events, most, &live)?;
            log::collect();
        }
        match self.status.unwrap_or(Err(Failure::Interrupted)) {
            Ok(_) if self.has_failed => Ok(OWN_FAILURE),
            status => status,
        }
    }

    /// Gives the time after which this is to be looked at again.
    fn stop_with_app(&mut self) -> Option<Duration> {
        if self.settings.attach.is_some() {
            return None;
        }
        let (first, others): (Vec<_>, Vec<_>) = self.members.iter().partition(|member| member.is_first);
        let others = others.into_iter().map(|member| (member.pid, member.job_stop().is_some()));
        let others = others.chain(self.vfork_children.keys().map(|pid| (*pid, false)));
        let others: Vec<Followed> = others.map(|(pid, is_stopped)| Followed { pid, is_stopped }).collect();
        let first = first.first()?;
        self.job.is_now(first.pid, first.job_stop(), &others)
    }

    fn wait(&mut self, events: &Events, most: Option<Duration>, live: &Live) -> Result<(), Failure> {
        match events.wait(most) {
            Event::Child | Event::Nothing => {}
            Event::Timer { process } => self.of_process(process, |follower| follower.time_is_over()),
            Event::Turn { process } => self.of_process(process, |follower| follower.turn_may_be_over()),
            Event::Throttle { process } => self.of_process(process, |follower| follower.throttle_is_over()),
            Event::Detach { process } => {
                let is_meant = |member: &&mut Member<'a>| match process == std::process::id() as i32 {
                    true => member.is_first,
                    false => member.pid == process,
                };
                self.members.iter_mut().filter(is_meant).for_each(Member::detach);
            }
            Event::Show => live.show(self.members.iter_mut().find(|member| member.is_first)),
            Event::Collector => self.members.iter_mut().for_each(Member::collector_answered),
            Event::Signal(info) if self.job.is_of_waker(&info) => {}
            Event::Signal(info) if self.settings.attach.is_some() => return self.sent_to_us(info.si_signo),
            Event::Signal(info) => {
                let at = Moment::now();
                let bit = 1 << (info.si_signo - 1);
                let is_first = self.signals_taken & bit == 0;
                self.signals_taken |= bit;
                let waited: Vec<i32> = self.members.iter().filter(|m| m.awaits(info.si_signo)).map(|m| m.pid).collect();
                self.drain()?;
                // What the app has started is the app's to end, as long as it is there.
                let is_there = self.members.iter().any(|member| member.is_first);
                for member in self.members.iter_mut().filter(|member| member.is_first || !is_there) {
                    let waited = waited.contains(&member.pid);
                    member.signal_sent(&info, Taken { at, waited, is_first });
                }
            }
        }
        Ok(())
    }

    /// A signal that isn't the app's, which somebody else has started.
    fn sent_to_us(&mut self, signal: i32) -> Result<(), Failure> {
        match signal {
            libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU => let_through(signal),
            _ if !ENDING.contains(&signal) => {}
            // Whoever asks again doesn't want to wait for it.
            _ if std::mem::replace(&mut self.was_asked_to_end, true) => return Err(Failure::NotLetGo),
            _ => self.members.iter_mut().for_each(Member::detach),
        }
        Ok(())
    }

    fn of_process(&mut self, process: i32, what: impl Fn(&mut (dyn Follower<'a> + 'a))) {
        self.members.iter_mut().filter_map(|member| member.follower_of(process)).for_each(what);
    }

    fn drain(&mut self) -> Result<(), Failure> {
        while let Some(report) = next_report().doing("wait for processes")? {
            let pid = report.pid();
            if let Some(member) = self.members.iter_mut().find(|member| member.follows(pid)) {
                let new_processes = member.observe(report);
                let parent = member.pid;
                new_processes.into_iter().for_each(|new_process| self.begin(new_process, parent));
            } else if let Some(exit) = report.exit() {
                self.vfork_children.remove(&pid);
                self.members.iter_mut().for_each(|member| member.other_ended(pid, exit));
            } else if let Some(vfork_child) = self.vfork_children.remove(&pid) {
                self.vfork_stopped(pid, vfork_child.observe(report));
            } else if report.is_new() {
                self.early_stops.keep(report);
            }
        }
        Ok(())
    }

    fn vfork_stopped(&mut self, pid: i32, vfork_stopped: Result<VforkStop, Failure>) {
        match vfork_stopped {
            Ok(VforkStop::Still(vfork_child)) => {
                self.vfork_children.insert(pid, vfork_child);
            }
            Ok(VforkStop::Parent(vfork_child, new_process)) => {
                self.vfork_children.insert(pid, vfork_child);
                self.begin(new_process, pid);
            }
            Ok(VforkStop::Program(process)) => self.follow(process, Origin::Image),
            // It has ended.
            Err(_) => {}
        }
    }

    fn begin(&mut self, new_process: NewProcess, parent: i32) {
        // An error means that it has been killed.
        let Ok(process) = self.early_stops.take(new_process.child) else { return };
        let pid = process.pid();
        match new_process.kind {
            ProcessKind::Unfollowed => drop(process.detach(0)),
            ProcessKind::Thread | ProcessKind::Slice => {
                if let Some(member) = self.members.iter_mut().find(|member| member.pid == parent) {
                    member.adopt(process, matches!(new_process.kind, ProcessKind::Slice));
                }
            }
            kind if !self.settings.follow || has_other_numbers(pid) => {
                if let ProcessKind::VforkChild(company) = kind {
                    company.breaks();
                }
                drop(process.detach(0));
            }
            ProcessKind::VforkChild(company) => {
                if let Ok(vfork_child) = VforkChild::start(process, company) {
                    self.vfork_children.insert(pid, vfork_child);
                }
            }
            ProcessKind::Copy(inherited) => self.follow(process, Origin::Copy(inherited)),
        }
    }

    fn follow(&mut self, process: Stopped, origin: Origin) {
        match Resources::new(self.settings, self.image, Some(process.pid())) {
            Ok(resources) => {
                resources.memory.watch(log::watched());
                self.members.push(Member::new(process, origin, false, self.settings, resources));
            }
            Err(failure) => {
                self.failed(process.pid(), &name_of(process.pid()), &failure);
                // It goes on by itself; an error means that it has been killed.
                let _ = process.detach(0);
            }
        }
    }

    fn failed(&mut self, pid: i32, name: &str, failure: &Failure) {
        tell!("superpin: process {pid} ({name}): {failure}");
        // That the app kills a process of its own is nothing that went wrong here.
        self.has_failed |= !matches!(failure, Failure::Killed(_));
    }

    /// Brings members on that are over, and parts with those whose result is printed.
    fn conclude(&mut self) {
        for member in std::mem::take(&mut self.members) {
            let (is_first, pid) = (member.is_first, member.pid);
            match member.conclude(self.settings) {
                Conclusion::Later(member) => self.members.push(member),
                Conclusion::Done { result, .. } if is_first => {
                    self.status = Some(result.map(|end| if end.is_right { end.status } else { OWN_FAILURE }));
                }
                Conclusion::Done { result: Ok(end), .. } => self.has_failed |= !end.is_right,
                Conclusion::Done { result: Err(failure), name } => self.failed(pid, &name, &failure),
            }
        }
    }
}
