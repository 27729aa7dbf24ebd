//! What the master is doing, and letting it go on, or go for good.
//!
//! After a failure the app goes on alone, natively, to its end: its work is the user's. There is then no total.

use std::collections::BTreeMap;
use std::time::Duration;

use tracee::{ExitStatus, Mode, Parent, Running, Stop, Stopped};

use crate::app::kill;
use crate::base::{Failure, Moment};
use crate::command::Settings;
use crate::follow::Outcome;
use crate::sliced::boundaries::{Cut, Then};
use crate::sliced::master::{self, Leave, Process, Thread};
use crate::sliced::time::TurnQueue;

/// What a thread of the master's is doing.
pub(super) enum Phase {
    /// It runs.
    Running(Running),
    /// It stands before a boundary, because too many slices are running.
    Held(Stopped, Box<Cut>, Moment),
    /// It stands before a call that fails as long as certain slices are there.
    Waiting(Stopped, Moment),
    /// It has come to this stop, and hasn't the turn.
    Comes(Stopped, Stop),
    /// It can go on, and hasn't the turn.
    Ready(Stopped),
    /// It was in the care of the recorder inside it, as others were, and has come to this stop.
    InCare(Stopped, Stop),
    /// It is being looked at, goes on without us, or its end is about to be reported.
    Alone,
}

/// A thread that hasn't the turn.
pub(super) struct OtherThread {
    pub(super) thread: Thread,
    pub(super) phase: Phase,
}

/// The master, whatever it is doing.
pub(super) struct Master {
    process: Process,
    /// The thread that has the turn, or has had it last.
    thread: Thread,
    /// What that is doing.
    phase: Phase,
    /// All others that are there.
    pub(super) others: BTreeMap<i32, OtherThread>,
    /// Those of them that want the turn.
    pub(super) queue: TurnQueue,
    /// The first thread, if it has ended before the others: see [`Next::Ends`](crate::sliced::boundaries::Next::Ends).
    pub(super) first: Option<Stopped>,
    /// The thread that has had the turn last has ended.
    pub(super) thread_is_gone: bool,
    /// No slice looks at its files any more: whether one had been changed until then.
    changed_file: Option<Option<String>>,
    /// Whether it is let go for good.
    is_let_go: bool,
    /// Whether nobody traces it any more.
    has_parted: bool,
    /// Superpin ends it.
    is_ended: bool,
    /// Why, if the run has failed.
    failure: Option<Failure>,
    exit: Option<ExitStatus>,
}

impl Master {
    /// Process `pid`, which stands still before its first instruction or its copy's.
    pub(super) fn new(pid: i32, parent: Parent, settings: &Settings) -> Self {
        let process = Process::new(pid, parent, settings);
        let (thread, phase) = (Thread::new(pid), Phase::Alone);
        Self {
            process,
            thread,
            phase,
            others: BTreeMap::new(),
            queue: TurnQueue::default(),
            first: None,
            thread_is_gone: false,
            changed_file: None,
            is_let_go: false,
            has_parted: false,
            is_ended: false,
            failure: None,
            exit: None,
        }
    }

    /// What is known of its process.
    pub(super) fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// What is known of its thread.
    pub(super) fn thread(&mut self) -> &mut Thread {
        &mut self.thread
    }

    /// The thread at hand.
    pub(super) fn thread_at_hand(&self) -> &Thread {
        &self.thread
    }

    /// Both.
    pub(super) fn parts(&mut self) -> (&mut Process, &mut Thread) {
        (&mut self.process, &mut self.thread)
    }

    /// Its end, once that was reported.
    pub(super) fn exit(&self) -> Option<ExitStatus> {
        self.exit
    }

    /// Whether the run has failed.
    pub(super) fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Whether it is let go for good.
    pub(super) fn is_let_go(&self) -> bool {
        self.is_let_go
    }

    /// Interrupts it if it executes code of its own.
    pub(super) fn interrupt(&mut self) {
        if let Phase::Running(running) = &self.phase {
            self.thread.interrupt(running);
        }
    }

    /// Interrupts it, also in a call: it is to go on without us.
    pub(super) fn interrupt_call(&mut self) {
        match &self.phase {
            // An error means that it has ended.
            Phase::Running(running) if self.thread.is_in_call() => drop(running.interrupt()),
            Phase::Running(running) => self.thread.interrupt(running),
            _ => {}
        }
    }

    /// There is a report on it: it is looked at, if it was running.
    pub(super) fn is_reported(&mut self) -> Option<Running> {
        match std::mem::replace(&mut self.phase, Phase::Alone) {
            Phase::Running(running) => Some(running),
            _ => None,
        }
    }

    /// It has ended.
    pub(super) fn ends(&mut self, exit: ExitStatus) {
        self.exit = Some(if self.is_ended { ExitStatus::Code(0) } else { exit });
        self.others.clear();
        self.queue.clear();
        self.process.memory().files().app_ended();
        self.process.memory().common().is_gone();
        self.phase = Phase::Alone;
    }

    /// The signal for which it has stopped in the care of the recorder inside it, if nothing comes of that.
    pub(super) fn passes_by(&self, stop: &Stop) -> Option<i32> {
        let are_others_stopped = self.others.values().any(|other| matches!(other.phase, Phase::InCare(..)));
        if self.is_let_go || are_others_stopped { None } else { master::passes_by(&self.process, &self.thread, stop) }
    }

    /// It goes on, and gets the signal if that isn't 0.
    pub(super) fn resume(&mut self, mut stopped: Stopped, signal: i32) -> Result<(), Failure> {
        if signal == 0 && !self.is_let_go {
            self.thread.goes_on(&mut stopped)?;
        }
        self.phase = Phase::Running(stopped.resume(self.process.mode(), signal)?);
        Ok(())
    }

    /// It was stopped by a stopping signal, and stays so.
    pub(super) fn stay(&mut self, stopped: Stopped) -> Result<(), Failure> {
        self.phase = Phase::Running(stopped.stay_stopped()?);
        Ok(())
    }

    /// It stands before a boundary until there is room for another slice.
    pub(super) fn hold(&mut self, stopped: Stopped, cut: Cut) {
        self.phase = Phase::Held(stopped, Box::new(cut), Moment::now());
    }

    /// If it stands before a boundary: that, and since when.
    pub(super) fn take_held(&mut self) -> Option<(Stopped, Cut, Moment)> {
        match std::mem::replace(&mut self.phase, Phase::Alone) {
            Phase::Held(stopped, cut, since) => Some((stopped, *cut, since)),
            other => {
                self.phase = other;
                None
            }
        }
    }

    /// It stands before a call until a process has ended.
    pub(super) fn wait(&mut self, stopped: Stopped) {
        self.phase = Phase::Waiting(stopped, Moment::now());
    }

    /// Whether it stands before a call.
    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Waiting(..))
    }

    /// If it stands before a call: since when.
    pub(super) fn take_waiting(&mut self) -> Option<(Stopped, Moment)> {
        match std::mem::replace(&mut self.phase, Phase::Alone) {
            Phase::Waiting(stopped, since) => Some((stopped, since)),
            other => {
                self.phase = other;
                None
            }
        }
    }

    /// The run has failed: the app is let go.
    pub(super) fn fail(&mut self, error: Failure) {
        self.failure = Some(error);
        self.let_go();
    }

    /// The app is let go where it stands, or from the first stop at which that leaves no trace in it.
    pub(super) fn let_go(&mut self) {
        if std::mem::replace(&mut self.is_let_go, true) {
            return;
        }
        self.process.memory().common().leaves();
        self.queue.clear();
        self.let_thread_go();
        // As long as a thread is in the care of the recorder inside the app, that stays.
        if self.process.is_seen() {
            self.let_others_go();
        }
    }

    /// All threads but the one at hand are let go.
    pub(super) fn let_others_go(&mut self) {
        self.first_goes_on();
        for tid in self.others.keys().copied().collect::<Vec<_>>() {
            self.select(tid);
            self.let_thread_go();
        }
    }

    /// The thread at hand is let go.
    pub(super) fn let_thread_go(&mut self) {
        self.thread.processor.give_back();
        match std::mem::replace(&mut self.phase, Phase::Alone) {
            Phase::Running(running) => {
                // An error means that it has ended.
                let _ = running.interrupt();
                self.phase = Phase::Running(running);
            }
            Phase::Held(stopped, cut, _) => {
                let left = match (cut.then.signal(), cut.then) {
                    (Some(signal), _) => self.resume(stopped, signal),
                    (_, Then::Write { number, args, .. }) => self.leave(stopped, Stop::SyscallEntry { number, args }),
                    _ => self.leave(stopped, Stop::Interrupted),
                };
                if left.is_err() {
                    kill(self.process.pid());
                }
            }
            Phase::Comes(stopped, stop) | Phase::InCare(stopped, stop) => {
                if self.leave(stopped, stop).is_err() {
                    kill(self.process.pid());
                }
            }
            Phase::Ready(stopped) | Phase::Waiting(stopped, _) => {
                if self.leave(stopped, Stop::Interrupted).is_err() {
                    kill(self.process.pid());
                }
            }
            Phase::Alone => {}
        }
    }

    /// The first thread, if it has ended before the others, ends now: before the last of them does, whose status may be the process's.
    pub(super) fn first_goes_on(&mut self) {
        let Some(first) = self.first.take() else { return };
        let pid = first.pid();
        // An error means that it was killed.
        if first.resume(Mode::Free, 0).is_ok() {
            wait_for_zombie(pid);
        }
    }

    /// Puts another thread in the place of the one at hand. Nothing if it isn't there.
    pub(super) fn select(&mut self, tid: i32) {
        let Some(OtherThread { thread, phase }) = self.others.remove(&tid) else { return };
        let before = OtherThread {
            thread: std::mem::replace(&mut self.thread, thread),
            phase: std::mem::replace(&mut self.phase, phase),
        };
        self.others.insert(before.thread.tid(), before);
    }

    /// What the thread at hand is doing.
    pub(super) fn phase(&mut self) -> &mut Phase {
        &mut self.phase
    }

    /// Its process, and one of its threads.
    pub(super) fn parts_of(&mut self, tid: i32) -> (&mut Process, &mut Thread) {
        let thread = self.others.get_mut(&tid).map_or(&mut self.thread, |other| &mut other.thread);
        (&mut self.process, thread)
    }

    /// Lets it go for good, from the first stop after that was decided at which that leaves no trace in it.
    pub(super) fn leave(&mut self, stopped: Stopped, stop: Stop) -> Result<(), Failure> {
        match master::leave(&mut self.process, &mut self.thread, stopped, stop)? {
            Leave::Resume(stopped, signal) => self.resume(stopped, signal),
            Leave::Stay(stopped) => self.stay(stopped),
            Leave::Part(stopped) => self.detach(stopped),
        }
    }

    /// Lets it go at once. The end of a process that isn't our child won't be reported any more.
    pub(super) fn detach(&mut self, stopped: Stopped) -> Result<(), Failure> {
        if !self.process.is_our_child() {
            self.exit.get_or_insert(ExitStatus::Code(0));
        }
        stopped.detach(0)?;
        self.has_parted = self.others.values().all(|other| matches!(other.phase, Phase::Alone));
        Ok(())
    }

    /// Nobody traces it any more, and its end won't be reported.
    pub(super) fn has_left(&mut self) {
        self.exit.get_or_insert(ExitStatus::Code(0));
        self.has_parted = true;
    }

    /// Whether nobody traces it any more.
    pub(super) fn has_parted(&self) -> bool {
        self.has_parted
    }

    /// Whether this error means that nobody controls it any more. While it is looked at nobody else holds it: an error on the way leaves it standing still.
    pub(super) fn is_lost_by(&self, error: &Failure) -> bool {
        let stands_still = !self.is_let_go && !self.thread_is_gone && matches!(self.phase, Phase::Alone);
        stands_still || matches!(error, Failure::Trace(_))
    }

    /// Ends it, wherever it stands: the tool has looked its last. Its status is 0.
    pub(super) fn end(&mut self) {
        self.is_ended |= self.exit.is_none();
        self.let_go();
        self.kill();
    }

    /// Ends it, unless it has ended.
    pub(super) fn kill(&self) {
        if self.exit.is_none() {
            kill(self.process.pid());
        }
    }

    /// No slice is left, and none will come, though it goes on: what it does to its files from now on doesn't matter.
    pub(super) fn is_looked_at_no_more(&mut self) {
        if self.changed_file.is_none() {
            self.changed_file = Some(self.process.memory().changed_file());
        }
    }

    /// What became of it.
    pub(super) fn conclude(mut self) -> Outcome {
        self.is_looked_at_no_more();
        if let Some(file) = self.changed_file.take().flatten() {
            // Whatever else went wrong, it probably did for this reason.
            self.failure = Some(Failure::Unsupported(format!(
                "{file} was changed after the app had mapped it: sliced mode (-sp 1) can't tell what the app saw of that. \
                 Serial mode is -sp 0"
            )));
        }
        Outcome { exit: self.exit, failure: self.failure, lives_on: false }
    }
}

/// Waits until the first thread of a process has ended, which others outlive: nobody reports that.
fn wait_for_zombie(pid: i32) {
    const PAUSE: Duration = Duration::from_micros(50);
    const MOST: u32 = 20_000;
    for _ in 0..MOST {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let state = stat.rsplit_once(')').and_then(|(_, rest)| rest.trim_start().chars().next());
        if matches!(state, None | Some('Z' | 'X')) {
            return;
        }
        std::thread::sleep(PAUSE);
    }
}
