//! Who has the turn next.

use syscall_replay::threads::Length;
use syscall_replay::{Turn, TurnEnd, registers_hash};
use tracee::{Change, Mode, Report, Stop, Stopped};

use super::births::no_room;
use crate::base::Failure;
use crate::follow::JobStops;
use crate::report::TurnEnded;
use crate::sliced::cut::Run;
use crate::sliced::memory::FirstThread;
use crate::sliced::phases::{Master, Phase};

/// What a thread does that gets the turn.
pub(in crate::sliced) enum Begins {
    /// It goes on.
    Ready(Stopped),
    /// It has come to a stop.
    At(Stopped, Stop),
}

impl Master {
    /// Whether this is one of its threads.
    pub(in crate::sliced) fn has_thread(&self, tid: i32) -> bool {
        self.has_other(tid) || self.thread_at_hand().tid() == tid
    }

    /// Whether this is one of its threads, which isn't at hand.
    pub(in crate::sliced) fn has_other(&self, tid: i32) -> bool {
        self.others.contains_key(&tid)
    }

    /// A thread that hasn't the turn has come to a stop. `comes_in`: if that can be, into the care of the recorder.
    pub(in crate::sliced) fn comes(
        &mut self,
        report: Report,
        stops: &mut JobStops,
        comes_in: bool,
    ) -> Result<(), Failure> {
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
        if comes_in { self.comes_in(tid) } else { Ok(()) }
    }

    /// Threads that haven't the turn have the processors that the app has given them: it is about to ask for them, or to change them.
    pub(in crate::sliced) fn give_processors_back(&mut self) {
        self.others.values_mut().for_each(|other| other.thread.processor.give_back());
    }

    /// The thread at hand runs where the one before has run.
    fn goes_on_for(&mut self, before: i32) {
        let Some(before) = self.others.remove(&before) else { return };
        self.thread().processor.goes_on_for(&before.thread.processor);
        self.others.insert(before.thread.tid(), before);
    }

    /// The turn has gone over from thread `before`, which stands with this stack pointer.
    fn notes_first_thread(&mut self, before: i32, end: TurnEnd, rsp: u64) {
        let process = self.process();
        let first = process.pid();
        let first_thread = match end {
            _ if self.thread_at_hand().tid() == first => FirstThread::HasTurn,
            _ if before != first => return,
            TurnEnd::Gone => FirstThread::Gone,
            TurnEnd::InCall(_) | TurnEnd::Ready => FirstThread::Waits(rsp),
        };
        self.process().memory().changed_pages.first_thread = first_thread;
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
    /// If nobody has the turn and a thread wants it: that gets it.
    pub(in crate::sliced) fn next_turn(&mut self) -> Result<Option<Begins>, Failure> {
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
        let rsp = self.master.thread().context().map_or(0, |context| context.registers.rsp());
        let used = self.turn.used();
        self.master.queue.had_turn(before, used);
        self.master.select(tid);
        self.master.notes_first_thread(before, end, rsp);
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
                TurnEnd::InCall(_) => TurnEnded::InCall,
                TurnEnd::Ready if slice.ends_with_point() => TurnEnded::AtPoint,
                TurnEnd::Ready if slice.is_fresh() => TurnEnded::AtSliceEnd,
                TurnEnd::Ready => TurnEnded::BehindCall,
                TurnEnd::Gone => TurnEnded::AtThreadEnd,
            };
            slice.set_turn_due(false);
            self.resources.statistics.turns.ended(how, used, self.turn.others());
            slice.log_turn(&turn).map_err(|_| no_room())?;
        }
        self.turn.begins(self.master.queue.len());
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
}
