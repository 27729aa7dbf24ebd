//! The master's threads run one at a time: which one has the turn.
//!
//! ```text
//!   thread 0   ══ has the turn ══╗ waits in a call ─ ─ ─ comes to its exit, is queued ─ ╔═══
//!   thread 1   ─ ─ queue ─ ─ ─ ─ ╚══ has the turn ══════════════════════ waits in a call ╝
//!   log                          turn: 1 goes on                           turn: 0 goes on
//! ```
//! So the interleaving is the sequence of turns, and shared memory needs no record. A turn ends at a call that waits or has lasted, at the thread's end, and, if
//! others want it, behind a call or at the end of a slice after a quantum (`time`). What a thread that hasn't the turn comes to is looked at when it has.
//!
//! A turn is given to another thread only when there is one: who waits alone and goes on has had it all the time.

use machine::{Here, Status};
use syscall_replay::threads::Length;
use syscall_replay::{CallExit, Turn, TurnEnd, registers_hash};
use tracee::{Change, Mode, Report, Stop, Stopped};

use super::cut::Run;
use super::master::Thread;
use super::phases::{Master, OtherThread, Phase};
use super::slices::Recording;
use super::time::{Rang, TurnIsIn};
use crate::base::Failure;
use crate::follow::JobStops;
use crate::sliced::boundaries::Amount;

/// What a thread does that gets the turn.
pub(super) enum Begins {
    /// It goes on.
    Ready(Stopped),
    /// It has come to a stop.
    At(Stopped, Stop),
}

impl Master {
    /// Whether this is one of its threads.
    pub(super) fn has_thread(&self, tid: i32) -> bool {
        self.has_other(tid) || self.thread_at_hand().tid() == tid
    }

    /// Whether this is one of its threads, which isn't at hand.
    pub(super) fn has_other(&self, tid: i32) -> bool {
        self.others.contains_key(&tid)
    }

    /// A thread that hasn't the turn has come to a stop.
    pub(super) fn comes(&mut self, report: Report, stops: &mut JobStops) -> Result<(), Failure> {
        let tid = report.pid();
        let Some(other) = self.others.get_mut(&tid) else { return Ok(()) };
        let Phase::Running(running) = std::mem::replace(&mut other.phase, Phase::Alone) else { return Ok(()) };
        let Change::Stopped(stopped, stop) = running.observe(report)? else { return Ok(()) };
        other.phase = match stop {
            // They stop and go on together.
            Stop::Group(signal) => {
                stops.reported(tid, Some(signal));
                Phase::Running(stopped.stay_stopped()?)
            }
            Stop::Interrupted => {
                stops.reported(tid, None);
                Phase::Running(stopped.resume(Mode::Syscalls, 0)?)
            }
            stop => {
                self.queue.comes(tid);
                Phase::Comes(stopped, stop)
            }
        };
        Ok(())
    }

    /// Threads that haven't the turn have the processors that the app has given them: it is about to ask for them, or to change them.
    pub(super) fn give_processors_back(&mut self) {
        self.others.values_mut().for_each(|other| other.thread.processor.give_back());
    }

    /// The thread at hand runs where the one before has run.
    fn goes_on_for(&mut self, before: i32) {
        let Some(before) = self.others.remove(&before) else { return };
        self.thread().processor.goes_on_for(&before.thread.processor);
        self.others.insert(before.thread.tid(), before);
    }

    /// Whether another thread may have the turn: the one that has had it last waits, or is gone.
    fn is_turn_free(&mut self) -> bool {
        match self.phase() {
            Phase::Running(_) => {
                let thread = self.thread();
                thread.is_left_in_call() || thread.length_of_call() == Length::Long
            }
            Phase::Ready(_) | Phase::Comes(..) => true,
            _ => self.thread_is_gone,
        }
    }
}

impl Run<'_> {
    /// A thread was born: it wants the turn as soon as the log knows of it.
    pub(super) fn adopt(&mut self, child: Stopped) -> Result<(), Failure> {
        if self.master.is_let_go() {
            return Ok(child.detach(0)?);
        }
        tracee::threads_are_traced();
        let (process, thread) = self.master.parts();
        let index = process.thread_begins();
        let thread = thread.starts(&child, index, process.pid())?;
        self.joins(thread, child)
    }

    /// A thread that the app had before it was attached to.
    pub(super) fn adopt_running(&mut self, mut other: Stopped) -> Result<(), Failure> {
        tracee::threads_are_traced();
        let (process, thread) = self.master.parts();
        let index = process.thread_begins();
        let thread = thread.has_started(&mut other, index, process.gadget())?;
        self.joins(thread, other)
    }

    /// There is another thread, which wants the turn.
    fn joins(&mut self, thread: Thread, stopped: Stopped) -> Result<(), Failure> {
        self.resources.statistics.threads += 1;
        self.turn.start(self.master.process().pid())?;
        let tid = stopped.pid();
        self.master.others.insert(tid, OtherThread { thread, phase: Phase::Ready(stopped) });
        self.master.queue.waits(tid);
        Ok(())
    }

    /// The log tells of a thread whose birth was recorded just now.
    pub(super) fn tell_of_birth(&mut self) -> Result<(), Failure> {
        let Some(tid) = self.master.process().take_born() else { return Ok(()) };
        let told = match (self.slices.recorded_mut(), self.master.others.get(&tid)) {
            (Some(slice), Some(OtherThread { thread, .. })) => {
                thread.context().map_or(Ok(()), |context| slice.log_thread(thread.identity(), context))
            }
            _ => Ok(()),
        };
        told.map_err(|_| no_room())
    }

    /// A slice begins: its log tells of all threads, if there were ever several.
    pub(super) fn tell_of_threads(&mut self, slice: &mut Recording, stopped: &Stopped) -> Result<(), Failure> {
        if self.master.process().started() == 0 {
            return Ok(());
        }
        let thread = self.master.thread();
        thread.loses_turn_here(stopped)?;
        let own = thread.context().map(|context| slice.log_thread(thread.identity(), context));
        own.transpose().map_err(|_| no_room())?;
        for OtherThread { thread, .. } in self.master.others.values() {
            if let Some(context) = thread.context() {
                slice.log_thread(thread.identity(), context).map_err(|_| no_room())?;
            }
        }
        Ok(())
    }

    /// A thread other than the first has ended.
    pub(super) fn thread_ended(&mut self, tid: i32) -> Result<(), Failure> {
        let master = &mut self.master;
        if tid != master.thread().tid() {
            // It was ended, by the end of all.
            master.queue.remove(tid);
            if master.others.remove(&tid).is_some() {
                master.process().thread_ends();
            }
            return Ok(());
        }
        let memory = Here::of(master.process().pid());
        let Some(slice) = self.slices.recorded_mut() else { return Ok(()) };
        match master.thread().logs_end(slice, &memory) {
            None => return Ok(()),
            Some(CallExit::Recorded) => {}
            Some(_) => return Err(no_room()),
        }
        master.process().thread_ends();
        *master.phase() = Phase::Alone;
        master.thread_is_gone = true;
        Ok(())
    }

    /// The first thread has come to its end before the others, and stays there.
    pub(super) fn first_ends(&mut self, stopped: Stopped) -> Result<(), Failure> {
        let Some(slice) = self.slices.recorded_mut() else { return Ok(()) };
        if self.master.thread().logs_end(slice, &stopped) != Some(CallExit::Recorded) {
            return Err(no_room());
        }
        self.master.process().thread_ends();
        self.master.first = Some(stopped);
        self.master.thread_is_gone = true;
        Ok(())
    }

    /// A thread has executed a program. If that isn't the first, it becomes the first.
    pub(super) fn program_is_executed(&mut self, report: &Report) {
        let (first, now) = (report.pid(), self.master.thread().tid());
        if first == now {
            return;
        }
        self.master.others.clear();
        self.master.queue.clear();
        self.master.first = None;
        self.master.thread().becomes_first(first);
        if let Phase::Running(running) = std::mem::replace(self.master.phase(), Phase::Alone) {
            *self.master.phase() = Phase::Running(running.becomes_first(report));
        }
    }

    /// If nobody has the turn and a thread wants it: that gets it.
    pub(super) fn next_turn(&mut self) -> Result<Option<Begins>, Failure> {
        if self.master.is_let_go() || self.slices.recorded().is_none() || !self.master.is_turn_free() {
            return Ok(None);
        }
        let Some(tid) = self.master.queue.next() else { return Ok(None) };
        if tid == self.master.thread().tid() {
            // The others are gone.
            return Ok(match std::mem::replace(self.master.phase(), Phase::Alone) {
                Phase::Ready(stopped) => Some(Begins::Ready(stopped)),
                other => {
                    *self.master.phase() = other;
                    None
                }
            });
        }
        let thread = self.master.thread();
        let (end, registers) = match thread.loses_turn_in_call() {
            _ if self.master.thread_is_gone => (TurnEnd::Gone, 0),
            end => {
                let context = self.master.thread().context();
                let registers = context.map_or(0, |context| registers_hash(&context.registers));
                (end.unwrap_or(TurnEnd::Ready), registers)
            }
        };
        let before = self.master.thread().tid();
        self.master.queue.had_turn(before, self.turn.used());
        self.master.select(tid);
        self.master.goes_on_for(before);
        if self.master.others.get(&before).is_some_and(|other| matches!(other.phase, Phase::Comes(..))) {
            self.master.queue.comes(before);
        }
        if std::mem::take(&mut self.master.thread_is_gone) {
            self.master.others.remove(&before);
            self.master.queue.remove(before);
        }
        let turn = Turn { to: self.master.thread().identity().index(), registers_hash: registers, end };
        if let Some(slice) = self.slices.recorded_mut() {
            let how = match end {
                TurnEnd::InCall(_) => 0,
                TurnEnd::Ready if slice.amount() != Amount::default() => 1,
                TurnEnd::Ready => 2,
                TurnEnd::Gone => 3,
            };
            self.resources.statistics.turns[how] += 1;
            slice.log_turn(&turn).map_err(|_| no_room())?;
        }
        self.turn.begins();
        let (mut stopped, stop) = match std::mem::replace(self.master.phase(), Phase::Alone) {
            Phase::Comes(stopped, stop) => (stopped, Some(stop)),
            Phase::Ready(stopped) => (stopped, None),
            other => {
                *self.master.phase() = other;
                return Ok(None);
            }
        };
        let (process, thread) = self.master.parts();
        process.gives_turn(thread, &mut stopped)?;
        Ok(Some(match stop {
            Some(stop) => Begins::At(stopped, stop),
            None => Begins::Ready(stopped),
        }))
    }

    /// Whether the call that the thread at hand has just made ends the process, by a signal for another thread: that is to come first, as natively, where the kernel
    /// ends all threads before the call returns.
    pub(super) fn is_about_to_die(&mut self) -> bool {
        if self.slices.recorded().is_none() {
            return false;
        }
        let Some((to, signal)) = self.master.thread().signals_by_call() else { return false };
        self.master.queue.is_sent_signal(to);
        if !self.master.thread().is_deadly(signal) {
            return false;
        }
        let blocked = Status::of(to).ok().and_then(|status| status.bits("SigBlk"));
        self.master.has_other(to) && blocked.is_some_and(|blocked| blocked >> (signal - 1) & 1 == 0)
    }

    /// It stands at this stop until another thread has had its turn.
    pub(super) fn lets_others_go_first(&mut self, stopped: Stopped, stop: Stop) -> Result<(), Failure> {
        self.master.thread().may_lose_turn_in_call(&stopped)?;
        self.master.thread().lasts();
        *self.master.phase() = Phase::Comes(stopped, stop);
        Ok(())
    }

    /// Whether the thread at hand, which stands here, is to give up its turn behind the call that it has just made. An interrupt may have come after that, in the middle of its code.
    pub(super) fn gives_way(&mut self, stopped: &Stopped) -> Result<bool, Failure> {
        if self.master.queue.is_empty() || !self.turn.is_over() || !self.master.thread().may_give_way() {
            return Ok(false);
        }
        match self.slices.recorded() {
            Some(slice) if !slice.is_due() => Ok(slice.is_behind_call(stopped)?),
            _ => Ok(false),
        }
    }

    /// It stands here, and waits for its next turn.
    pub(super) fn give_way(&mut self, stopped: Stopped) -> Result<(), Failure> {
        self.master.thread().loses_turn_here(&stopped)?;
        self.master.queue.waits(stopped.pid());
        *self.master.phase() = Phase::Ready(stopped);
        Ok(())
    }

    /// The first turn of a slice begins: whether the thread at hand is to give it up.
    pub(super) fn gives_way_at_start(&mut self) -> bool {
        self.turn.is_nearly_over() && !self.master.queue.is_empty() && self.master.thread().may_give_way()
    }

    /// Sets the alarm, if others want the turn.
    pub(super) fn watch_turn(&mut self) {
        if self.is_turn_wanted() && matches!(self.master.phase(), Phase::Running(_)) {
            let is_in = self.turn_is_in();
            self.turn.watch(is_in, self.master.queue.is_urgent());
        }
    }

    /// The alarm has rung.
    pub(super) fn turn_may_be_over(&mut self) {
        let (is_wanted, is_in) = (self.is_turn_wanted(), self.turn_is_in());
        match self.turn.rings(is_in, self.master.queue.is_urgent()) {
            _ if !is_wanted => {}
            Rang::Nothing | Rang::IsOver => {}
            Rang::Looks => self.master.interrupt(),
            Rang::CallLasts => {
                let (process, thread) = self.master.parts();
                if let Some(call) = thread.waiting_call() {
                    process.lasting().note(call.number, &call.args);
                }
                thread.lasts();
            }
            Rang::EndsSlice => {
                if let Some(slice) = self.slices.recorded_mut() {
                    slice.set_due(true);
                }
                self.master.interrupt();
            }
        }
    }

    /// The thread that has the turn was interrupted. If it spins until another one has done something, the slice ends.
    pub(super) fn ends_spin(&mut self, stopped: &Stopped) {
        let spins = self.turn.looks_at(|| stopped.registers().ok().map(|registers| registers.app()));
        if let Some(slice) = self.slices.recorded_mut().filter(|_| spins) {
            self.resources.statistics.turns_of_spinners += 1;
            slice.set_due(true);
        }
    }

    fn is_turn_wanted(&self) -> bool {
        !self.master.queue.is_empty() && !self.master.is_let_go()
    }

    fn turn_is_in(&mut self) -> TurnIsIn {
        match self.master.thread() {
            thread if thread.length_of_call() == Length::Short => TurnIsIn::ShortCall,
            thread if thread.is_in_call() => TurnIsIn::OtherCall,
            _ => TurnIsIn::Code,
        }
    }
}

fn no_room() -> Failure {
    Failure::Unsupported("the log of a slice has no room for what is to be known of the app's threads".into())
}
