//! Where turns end.

use machine::Status;
use syscall_replay::threads::Length;
use tracee::{Stop, Stopped};

use crate::base::Failure;
use crate::sliced::boundaries::Cut;
use crate::sliced::cut::Run;
use crate::sliced::master::turn_ends_at_point;
use crate::sliced::phases::Phase;
use crate::sliced::time::{Rang, TurnIsIn};

impl Run<'_> {
    /// Whether the call that the thread at hand has just made ends the process, by a signal for another thread: that is to come first, as natively, where the kernel
    /// ends all threads before the call returns.
    pub(in crate::sliced) fn is_about_to_die(&mut self) -> bool {
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
    pub(in crate::sliced) fn lets_others_go_first(&mut self, stopped: Stopped, stop: Stop) -> Result<(), Failure> {
        self.master.thread().may_lose_turn_in_call(&stopped)?;
        self.master.thread().lasts();
        *self.master.phase() = Phase::Comes(stopped, stop);
        Ok(())
    }

    /// Whether the thread at hand, which stands here, is to give up its turn behind the call that it has just made. An interrupt may have come after that, in the middle of its code.
    pub(in crate::sliced) fn gives_way(&mut self, stopped: &Stopped) -> Result<bool, Failure> {
        if self.master.queue.is_empty() || !self.turn.is_over() || !self.master.thread().may_give_way() {
            return Ok(false);
        }
        match self.slices.recorded() {
            Some(slice) if !slice.is_due() => Ok(slice.is_behind_call(stopped)?),
            _ => Ok(false),
        }
    }

    /// The slice is about to end at this place. If that is only because the turn ends, the log tells the place, the thread waits for its next turn, and the slice goes on. Gives
    /// the end back if not.
    ///
    /// # Errors
    /// If the master was killed.
    pub(in crate::sliced) fn gives_way_at_point(
        &mut self,
        stopped: Stopped,
        cut: Cut,
    ) -> Result<Option<(Stopped, Cut)>, Failure> {
        let is_wanted = self.is_turn_wanted();
        let (process, thread) = self.master.parts();
        let Some(slice) = self.slices.recorded_mut() else { return Ok(Some((stopped, cut))) };
        let is_turn = slice.set_turn_due(false) && !slice.is_due() && !self.detaches;
        if !is_turn {
            return Ok(Some((stopped, cut)));
        }
        if is_wanted && !turn_ends_at_point(process, thread, slice, &stopped, &cut)? {
            return Ok(Some((stopped, cut)));
        }
        match is_wanted {
            true => self.give_way(stopped)?,
            false => self.resume(stopped, 0)?,
        }
        Ok(None)
    }

    /// It stands here, and waits for its next turn.
    pub(in crate::sliced) fn give_way(&mut self, stopped: Stopped) -> Result<(), Failure> {
        self.master.thread().loses_turn_here(&stopped)?;
        self.master.queue.waits(stopped.pid());
        *self.master.phase() = Phase::Ready(stopped);
        Ok(())
    }

    /// The first turn of a slice begins: whether the thread at hand is to give it up.
    pub(in crate::sliced) fn gives_way_at_start(&mut self) -> bool {
        self.turn.is_nearly_over() && !self.master.queue.is_empty() && self.master.thread().may_give_way()
    }

    /// Sets the alarm, if others want the turn.
    pub(in crate::sliced) fn watch_turn(&mut self) {
        if self.master.process().are_turns_passed_on() {
            if self.master.process().in_care().len() > 1 {
                self.turn.watch_care();
            }
        } else if self.is_turn_wanted() && matches!(self.master.phase(), Phase::Running(_)) {
            let is_in = self.turn_is_in();
            self.turn.watch(is_in, self.master.queue.is_urgent());
        }
    }

    /// The alarm has rung.
    pub(in crate::sliced) fn turn_may_be_over(&mut self, is_app_stopped: bool) {
        if self.master.process().are_turns_passed_on() {
            let (turns, is_wanted) = self.master.process().turns_in_care();
            if self.turn.rings_in_care((turns, is_wanted && !is_app_stopped)) {
                self.master.interrupt();
            }
            return;
        }
        let (is_wanted, is_in) = (self.is_turn_wanted(), self.turn_is_in());
        match self.turn.rings(is_in, self.master.queue.is_urgent()) {
            _ if !is_wanted => {}
            Rang::Nothing => {}
            // Its calls aren't seen.
            Rang::IsOver if !self.master.process().is_seen() => self.master.interrupt(),
            Rang::IsOver => {}
            Rang::Looks => self.master.interrupt(),
            Rang::CallLasts if !self.master.thread().may_last() => {}
            Rang::CallLasts => {
                let (process, thread) = self.master.parts();
                if let Some(call) = thread.waiting_call() {
                    process.lasting().note(call.number, &call.args);
                }
                thread.lasts();
            }
            Rang::EndsTurn => {
                if let Some(slice) = self.slices.recorded_mut() {
                    slice.set_turn_due(true);
                }
                self.master.interrupt();
            }
        }
    }

    /// The thread that has the turn was interrupted. If it spins until another one has done something, the turn ends.
    pub(in crate::sliced) fn ends_spin(&mut self, stopped: &Stopped) {
        let spins = self.turn.looks_at(|| stopped.registers().ok().map(|registers| registers.app()));
        if let Some(slice) = self.slices.recorded_mut().filter(|_| spins) {
            self.resources.statistics.turns.of_spinners += 1;
            slice.set_turn_due(true);
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
