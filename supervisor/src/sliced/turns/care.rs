//! Threads in the care of the recorder inside the app, where they pass the turn on among themselves: coming in, and being taken back.
//!
//! ```text
//!   thread 0   ══ has the turn ══╗ waits in a call ─ ─ ─ ╔═══ stops ──────────► is looked at, as ever
//!   thread 1   comes in ─ ─ ─ ─ ─ ╚══ has the turn ══════╝ waits ─ ─ is stopped ─► in its call, without the turn
//! ```

use syscall_replay::is_restart;
use tracee::{Change, Report, Running, Stop, Stopped};

use crate::base::Failure;
use crate::follow::JobStops;
use crate::sliced::cut::Run;
use crate::sliced::master::{self, CameOut};
use crate::sliced::memory::FirstThread;
use crate::sliced::phases::{Master, OtherThread, Phase};
use crate::sliced::slices::Recording;

impl Master {
    /// The thread at hand goes on, in the care of the recorder if that is to have it: what is recorded then is the slice's. Others that want the turn come into its care as well, if they all can:
    /// then they pass the turn on among themselves.
    pub(in crate::sliced) fn goes_on_in_care(
        &mut self,
        slice: Option<&Recording>,
        stopped: &mut Stopped,
    ) -> Result<(), Failure> {
        let comes_in = |other: &OtherThread| match other.phase {
            Phase::Comes(_, Stop::SyscallExit { result }) => !is_restart(result as u64) && other.thread.may_come_in(),
            Phase::Comes(..) | Phase::Ready(_) | Phase::InCare(..) => false,
            Phase::Running(_) | Phase::Held(..) | Phase::Waiting(..) | Phase::Alone => true,
        };
        let can_all = self.others.values().all(comes_in);
        let (process, thread) = self.parts();
        process.lets_turns_be_passed_on(can_all);
        process.goes_on(thread, slice, stopped)?;
        if !process.are_turns_passed_on() {
            return Ok(());
        }
        let comes = |other: &OtherThread| matches!(other.phase, Phase::Comes(..));
        let tids: Vec<i32> = self.others.iter().filter(|(_, other)| comes(other)).map(|(tid, _)| *tid).collect();
        for tid in tids {
            if !self.take_in(tid)? {
                // Those inside don't know that it wants the turn: all are taken back at once.
                stopped.interrupt()?;
                self.thread().is_interrupted_soon();
            }
        }
        Ok(())
    }

    /// A thread has come to a stop, without the turn. If it can't come into the care of the recorder, those that are there don't know that it wants the turn: all are taken back.
    pub(in crate::sliced) fn comes_in(&mut self, tid: i32) -> Result<(), Failure> {
        if self.process().are_turns_passed_on() && !self.take_in(tid)? {
            self.interrupt();
        }
        Ok(())
    }

    /// Whether a thread that has come to a stop has come into the care of the recorder.
    fn take_in(&mut self, tid: i32) -> Result<bool, Failure> {
        let Some(mut other) = self.others.remove(&tid) else { return Ok(true) };
        let mut is_in = !matches!(other.phase, Phase::Comes(..));
        other.phase = match std::mem::replace(&mut other.phase, Phase::Alone) {
            Phase::Comes(mut stopped, Stop::SyscallExit { result }) if !is_restart(result as u64) => {
                let (process, thread) = self.parts();
                is_in = process.takes_in(&mut other.thread, &mut stopped)?;
                if is_in {
                    other.thread.processor.goes_on_for(&thread.processor);
                    let mode = process.mode();
                    self.queue.remove(tid);
                    Phase::Running(stopped.resume(mode, 0)?)
                } else {
                    Phase::Comes(stopped, Stop::SyscallExit { result })
                }
            }
            phase => phase,
        };
        self.others.insert(tid, other);
        Ok(is_in)
    }

    /// What one of its threads is doing that runs.
    fn take_running(&mut self, tid: i32) -> Option<Running> {
        match self.take_phase(tid)? {
            Phase::Running(running) => Some(running),
            other => {
                self.set_phase(tid, other);
                None
            }
        }
    }

    /// Where one of its threads has stopped that was in the recorder's care.
    fn take_in_care(&mut self, tid: i32) -> Option<(Stopped, Stop)> {
        match self.take_phase(tid)? {
            Phase::InCare(stopped, stop) => Some((stopped, stop)),
            other => {
                self.set_phase(tid, other);
                None
            }
        }
    }

    fn take_phase(&mut self, tid: i32) -> Option<Phase> {
        let is_at_hand = self.thread_at_hand().tid() == tid;
        let phase = if is_at_hand { self.phase() } else { &mut self.others.get_mut(&tid)?.phase };
        Some(std::mem::replace(phase, Phase::Alone))
    }

    /// One of its threads does this now.
    fn set_phase(&mut self, tid: i32, now: Phase) {
        match self.others.get_mut(&tid) {
            Some(other) => other.phase = now,
            None => *self.phase() = now,
        }
    }

    /// All threads are let go, which were in the care of the recorder until now.
    fn goes_for_good(&mut self) {
        self.queue.clear();
        self.let_thread_go();
        self.let_others_go();
    }
}

impl Run<'_> {
    /// One of several threads in the recorder's care has come to a stop. If something comes of that, all are taken back, and this is the one that has the turn, and its stop.
    pub(in crate::sliced) fn gathers(
        &mut self,
        report: Report,
        stops: &mut JobStops,
    ) -> Result<Option<(Stopped, Stop)>, Failure> {
        let tid = report.pid();
        let Some(running) = self.master.take_running(tid) else { return Ok(None) };
        let Change::Stopped(stopped, stop) = running.observe(report)? else { return Ok(None) };
        let (process, thread) = self.master.parts_of(tid);
        let passes_by = master::passes_by(process, thread, &stop);
        let goes_on = match (&stop, passes_by) {
            (Stop::Group(signal), _) => {
                stops.reported(tid, Some(*signal));
                Some(stopped.stay_stopped()?)
            }
            (_, Some(signal)) => Some(stopped.resume(process.mode(), signal)?),
            _ => {
                self.master.set_phase(tid, Phase::InCare(stopped, stop));
                None
            }
        };
        if let Some(running) = goes_on {
            self.master.set_phase(tid, Phase::Running(running));
            return Ok(None);
        }
        stops.reported(tid, None);
        self.stop_all_in_care(tid)?;
        let (turns, _) = self.master.process().turns_in_care();
        self.resources.statistics.turns.passed_on(turns);
        self.turn.care_ends(turns, self.master.queue.len());
        let Some(holder) = self.master.process().holder() else { return Ok(None) };
        let awaits_interrupt = self.master.thread().awaits_interrupt();
        self.master.select(holder.tid);
        if holder.has_turn {
            let first = self.master.process().pid();
            if holder.tid == first {
                self.master.process().memory().changed_pages.first_thread = FirstThread::HasTurn;
            }
            self.master.thread().comes_out();
            if awaits_interrupt {
                // Whoever has the turn now is meant; and another stop may have discarded it.
                self.master.thread().is_interrupted_soon();
            }
            return Ok(match std::mem::replace(self.master.phase(), Phase::Alone) {
                Phase::InCare(stopped, stop) => Some((stopped, stop)),
                _ => None,
            });
        }
        let (process, _) = self.master.parts();
        process.takes_all_back(self.slices.recorded_mut())?;
        self.release_from_care()?;
        if self.master.is_let_go() {
            self.master.goes_for_good();
            return Ok(None);
        }
        Ok(match std::mem::replace(self.master.phase(), Phase::Alone) {
            Phase::Comes(stopped, stop) => Some((stopped, stop)),
            other => {
                *self.master.phase() = other;
                None
            }
        })
    }

    /// All threads in the recorder's care stand still, but this one, which does already.
    fn stop_all_in_care(&mut self, but: i32) -> Result<(), Failure> {
        let mut is_to_stop = false;
        for tid in self.master.process().in_care().into_iter().filter(|tid| *tid != but) {
            let Some(running) = self.master.take_running(tid) else { continue };
            running.interrupt()?;
            let (stopped, stop) = running.wait()?;
            is_to_stop |= matches!(stop, Stop::Group(_));
            let stop = if matches!(stop, Stop::Group(_)) { Stop::Interrupted } else { stop };
            self.master.set_phase(tid, Phase::InCare(stopped, stop));
        }
        if is_to_stop {
            // The app was being stopped: again, once it is as if it had never been in care.
            let pid = self.master.process().pid();
            // SAFETY: kill has no memory preconditions. The process hasn't been reaped.
            unsafe { libc::kill(pid, libc::SIGSTOP) };
        }
        Ok(())
    }

    /// Nothing is patched any more: the threads that were in the recorder's care, and haven't the turn, are in their calls, or want it.
    pub(in crate::sliced) fn release_from_care(&mut self) -> Result<(), Failure> {
        if !self.master.process().is_seen() {
            return Ok(());
        }
        for tid in self.master.process().in_care() {
            let Some((stopped, stop)) = self.master.take_in_care(tid) else { continue };
            let is_let_go = self.master.is_let_go();
            let slice = self.slices.recorded_mut().filter(|_| !is_let_go);
            let (process, thread) = self.master.parts_of(tid);
            let came = master::comes_out(process, thread, slice, stopped, stop)?;
            let is_first = tid == process.pid();
            let rsp = thread.context().map_or(0, |context| context.registers.rsp());
            // Who is at hand may go on without another's turn between.
            let first_thread = if self.master.has_other(tid) { FirstThread::Waits(rsp) } else { FirstThread::HasTurn };
            if is_first {
                self.master.process().memory().changed_pages.first_thread = first_thread;
            }
            match came {
                CameOut::Waits(running) => self.master.set_phase(tid, Phase::Running(running)),
                CameOut::Comes(stopped, stop) => {
                    self.master.set_phase(tid, Phase::Comes(stopped, stop));
                    // Who has had the turn last goes on first.
                    if self.master.has_other(tid) {
                        self.master.queue.comes(tid);
                    }
                }
            }
        }
        if !self.master.queue.is_empty() {
            self.turn.is_wanted_after_care(self.master.queue.is_urgent());
        }
        Ok(())
    }
}
