//! The slices of a run: one that is being recorded, those that run, those that may not run yet.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use bubble::end::End;
use bubble::region::{Progress, Spec, pass};
use bubble::shared::{SliceStats, state};
use tracee::ExitStatus;

use super::lost::{begin_again, why};
use super::passes::Passes;
use super::recording::Recording;
use crate::app::{is_running_child, kill, wait_for_killed};
use crate::base::{Failure, Moment};
use crate::command::CallLimit;
use crate::report::{Ran, Statistics, What};
use crate::run_memory::{ClaimedSlot, RunMemory};
use crate::sliced::log;

struct RunningSlice {
    number: u64,
    slot: ClaimedSlot,
    since: Moment,
}

/// What the end of a process means.
pub enum Ended {
    /// A slice has been run, and by that these have finished. Others may be run again: so much was done for these.
    Finished(Vec<(u64, ClaimedSlot)>, Box<SliceStats>),
    /// A slice was lost and has begun again.
    Again,
    /// Nothing.
    Other,
}

/// All slices of a run.
pub struct Slices {
    limit: usize,
    /// The app is followed to its end, whatever the tool looks at.
    goes_on: bool,
    call_limit: CallLimit,
    /// The one that is being recorded.
    recording: Option<Recording>,
    /// A fork that never runs: it keeps the state in which the app was killed, for the last slice to compare itself with.
    death_checkpoint: Option<Recording>,
    due: VecDeque<(Recording, Box<End>)>,
    running: Vec<RunningSlice>,
    /// Those that are run twice.
    passes: Option<Passes>,
    /// The first slice in which the tool has stopped.
    stopped: Option<u64>,
    /// The first slice that doesn't matter.
    kept: Option<ClaimedSlot>,
    /// Finished slices that the next one has not followed yet.
    finished: BTreeSet<u64>,
    /// Processes that keep first states of finished slices for the slice before.
    checkpoints: BTreeMap<u64, i32>,
    /// Processes that were told to end.
    ending: BTreeSet<i32>,
    /// Why slices were begun again, the first time.
    lost: BTreeMap<u64, String>,
    next: u64,
}

impl Slices {
    /// None yet; at most `limit` will run at a time, and each replays as many calls as `call_limit` allows. The tool looks at `region`. `goes_on`: the app is
    /// followed behind that as well.
    pub fn new(limit: usize, call_limit: CallLimit, region: &Spec, goes_on: bool) -> Self {
        Self {
            limit,
            goes_on,
            call_limit,
            recording: None,
            death_checkpoint: None,
            due: VecDeque::new(),
            running: Vec::new(),
            passes: Passes::new(region),
            stopped: None,
            kept: None,
            finished: BTreeSet::new(),
            checkpoints: BTreeMap::new(),
            ending: BTreeSet::new(),
            lost: BTreeMap::new(),
            next: 0,
        }
    }

    /// How many run, and will end without others'. Of those that are run twice some wait for what others have counted: none is taken for one of these.
    pub fn at_work(&self) -> usize {
        if self.passes.is_some() { 0 } else { self.running.len() }
    }

    /// Whether the limit allows that another slice is released, and yet another forked.
    pub fn has_room(&self, memory: &RunMemory) -> bool {
        let waiting = self.passes.as_ref().map_or(0, Passes::waiting);
        self.running.len() + waiting < self.limit && self.due.is_empty() && memory.has_free_slot()
    }

    /// Whether no slice is left.
    pub fn is_empty(&self) -> bool {
        self.recording.is_none() && self.all_others_have_finished()
    }

    /// Whether none is left, nor any process of one.
    pub fn are_gone(&self) -> bool {
        self.is_empty() && self.checkpoints.is_empty() && self.ending.is_empty()
    }

    /// Whether any runs, so that waiting for one makes sense.
    pub fn any_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// How many have begun, how many wait for others, since when those run that do, and how many may.
    pub fn counts(&self) -> (u64, usize, impl Iterator<Item = Moment>, usize) {
        (self.next, self.due.len(), self.running.iter().map(|slice| slice.since), self.limit)
    }

    /// The next slice, whose process is `pid`. It isn't yet the one that is recorded.
    pub fn begin(&mut self, pid: i32, slot: ClaimedSlot) -> Recording {
        self.next += 1;
        if self.passes.is_some() {
            slot.set_pass(pass::COUNTS, &Progress::default());
        }
        Recording::new(self.next - 1, pid, slot, self.call_limit)
    }

    /// From now on this slice is recorded. Not `is_slice`: it is the death checkpoint, of the state in which the app died.
    pub fn record(&mut self, slice: Recording, is_slice: bool) -> &mut Recording {
        let place = if is_slice { &mut self.recording } else { &mut self.death_checkpoint };
        place.insert(slice)
    }

    /// The slice that is recorded.
    pub fn recorded(&self) -> Option<&Recording> {
        self.recording.as_ref()
    }

    /// The same, to be written.
    pub fn recorded_mut(&mut self) -> Option<&mut Recording> {
        self.recording.as_mut()
    }

    /// The end of the recorded slice is known: it is due to run.
    /// `bound`: CPU time that it may use; zero: as much as it likes.
    pub fn end_recording(&mut self, end: Box<End>, bound: Duration, statistics: &mut Statistics) {
        if let Some(recording) = self.recording.take() {
            recording.slot.set_cpu_bound(bound);
            statistics.records += u64::from(recording.records);
            statistics.log_bytes += recording.log_len as u64;
            self.due.push_back((recording, end));
        }
    }

    /// As many of those that are due, and matter, run as the limit allows.
    pub fn let_run(&mut self) {
        if let Some(last) = self.last_of_all() {
            self.forget_behind(last);
        }
        while self.running.len() < self.limit
            && let Some((number, slot)) = self.passes.as_mut().and_then(Passes::begin_again)
        {
            self.running.push(RunningSlice { number, slot, since: Moment::now() });
        }
        while self.running.len() < self.limit
            && let Some((mut slice, end)) = self.due.pop_front()
        {
            let len = slice.log_len;
            log::recorded(slice.number, &slice.slot.log()[..len]);
            let of_app = slice.records - slice.about_threads;
            slice.slot.publish(&end, slice.log_len, slice.last_call_len, of_app);
            self.running.push(RunningSlice { number: slice.number, slot: slice.slot, since: Moment::now() });
        }
    }

    /// The last slice that matters, if the tool looks at nothing behind it.
    pub fn last(&self) -> Option<u64> {
        self.passes.as_ref().and_then(Passes::last).into_iter().chain(self.stopped).min()
    }

    /// The same, if the app isn't followed behind it either.
    pub fn last_of_all(&self) -> Option<u64> {
        self.last().filter(|_| !self.goes_on)
    }

    /// The slice in which the tool has looked its last.
    pub fn has_stopped_in(&self) -> Option<u64> {
        self.stopped
    }

    /// How far the run has come, as far as that is known and counted.
    pub fn progress(&self) -> Option<Progress> {
        self.passes.as_ref().and_then(Passes::progress)
    }

    /// The tool has looked its last in this slice.
    pub fn stopped_in(&mut self, number: u64) {
        self.stopped = Some(self.stopped.map_or(number, |stopped| stopped.min(number)));
    }

    /// Slices behind this one don't matter: those that aren't recorded end. The first of them keeps its first state for the last one that matters to compare
    /// itself with.
    fn forget_behind(&mut self, last: u64) {
        let mut behind: Vec<(u64, ClaimedSlot)> = Vec::new();
        let (due, forgotten): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.due).into_iter().partition(|(recording, _)| recording.number <= last);
        self.due = due;
        behind.extend(forgotten.into_iter().map(|(recording, _)| (recording.number, recording.slot)));
        let (running, forgotten) =
            std::mem::take(&mut self.running).into_iter().partition(|slice| slice.number <= last);
        self.running = running;
        behind.extend(Vec::into_iter(forgotten).map(|slice| (slice.number, slice.slot)));
        behind.extend(self.passes.iter_mut().flat_map(|passes| passes.forget_behind(last)));
        if let Some(at) = behind.iter().position(|(number, _)| *number == last + 1) {
            let before = self.kept.replace(behind.swap_remove(at).1);
            self.end(before.into_iter().collect());
        }
        let checkpoints = self.checkpoints.split_off(&(last + 2));
        self.end_processes(checkpoints.into_values());
        self.end(behind.into_iter().map(|(_, slot)| slot).collect());
    }

    /// Whether all slices have finished but one that is recorded.
    pub fn all_others_have_finished(&self) -> bool {
        let wait = self.passes.as_ref().is_some_and(|passes| !passes.is_empty());
        self.due.is_empty() && self.running.is_empty() && !wait
    }

    /// The slice that is recorded doesn't matter either: it ends. If the last one that matters is still to compare itself with its first state, that is kept.
    pub fn forget_recorded(&mut self) {
        let Some(recorded) = self.recording.take() else { return };
        let is_wanted = self.last_of_all().is_some_and(|last| recorded.number == last + 1);
        if is_wanted && !self.all_others_have_finished() {
            self.kept = Some(recorded.slot);
        } else {
            self.end(vec![recorded.slot]);
        }
    }

    /// The last slice that matters has finished: no process is left behind it, when this returns.
    pub fn forget_kept(&mut self) {
        let checkpoints = std::mem::take(&mut self.checkpoints);
        self.end_processes(checkpoints.into_values());
        let death_checkpoint = self.death_checkpoint.take().map(|recording| recording.slot);
        let slots = self.kept.take().into_iter().chain(death_checkpoint).collect();
        self.end(slots);
        wait_for_killed(&self.ending);
    }

    /// A process has ended.
    ///
    /// # Errors
    /// If that means that a slice can't finish.
    pub fn ended(&mut self, pid: i32, exit: ExitStatus, statistics: &mut Statistics) -> Result<Ended, Failure> {
        if let Some(at) = self.running.iter().position(|slice| slice.slot.take_process(pid)) {
            let RunningSlice { number, slot, since } = &mut self.running[at];
            let is_lost = slot.state() != state::FINISHED;
            let what = if is_lost { What::Lost } else { What::of(slot.pass()) };
            let until = Moment::now();
            statistics.ran(Ran { slice: *number, from: std::mem::replace(since, until), until, what });
            if is_lost {
                return begin_again(*number, slot, &mut self.lost, state::RELEASED, exit).map(|()| Ended::Again);
            }
            let RunningSlice { number, slot, .. } = self.running.swap_remove(at);
            let finished = match &mut self.passes {
                Some(passes) => passes.ended(number, slot)?,
                None => vec![(number, slot)],
            };
            return Ok(self.have_finished(finished));
        }
        let waiting = self.recording.iter().chain(self.due.iter().map(|(recording, _)| recording));
        if let Some(slice) = waiting.into_iter().find(|slice| slice.slot.take_process(pid)) {
            return begin_again(slice.number, &slice.slot, &mut self.lost, state::BOOTING, exit).map(|()| Ended::Again);
        }
        match &self.death_checkpoint {
            Some(death_checkpoint)
                if death_checkpoint.slot.process() == Some(pid) && death_checkpoint.slot.checkpoint().is_none() =>
            {
                Err(Failure::Slice { slice: death_checkpoint.number, report: why(&death_checkpoint.slot, exit) })
            }
            _ => self.checkpoint_ended(pid, exit),
        }
    }

    /// The next slice whose values are to be put together with those of the slices before: its slot.
    pub fn take_next_counted(&mut self) -> Option<usize> {
        self.passes.as_mut().and_then(Passes::take_next_counted)
    }

    /// That was done of the next `slices`.
    ///
    /// # Errors
    /// If that means that a slice can't finish.
    pub fn were_put_together(&mut self, slices: usize) -> Result<Ended, Failure> {
        let Some(passes) = &mut self.passes else { return Ok(Ended::Other) };
        let finished = passes.were_put_together(slices)?;
        Ok(self.have_finished(finished))
    }

    fn have_finished(&mut self, finished: Vec<(u64, ClaimedSlot)>) -> Ended {
        self.let_run();
        finished.iter().for_each(|(number, slot)| self.retire(*number, slot));
        let counted = self.passes.as_mut().map(Passes::take_stats).unwrap_or_default();
        Ended::Finished(finished, Box::new(counted))
    }

    /// First states are kept for the slice itself and for the one before.
    fn retire(&mut self, number: u64, slot: &ClaimedSlot) {
        if let Some(checkpoint) = slot.checkpoint() {
            self.checkpoints.insert(number, checkpoint);
        }
        let before_has_finished = number.checked_sub(1).is_none_or(|before| self.finished.remove(&before));
        let done = [before_has_finished.then_some(number), Some(number + 1)];
        let done = done.map(|number| self.checkpoints.remove(&number?));
        self.end_processes(done.into_iter().flatten());
        if !self.finished.contains(&(number + 1)) {
            self.finished.insert(number);
        }
    }

    /// The process may have kept a first state that is still wanted.
    fn checkpoint_ended(&mut self, pid: i32, exit: ExitStatus) -> Result<Ended, Failure> {
        self.checkpoints.retain(|_, checkpoint| *checkpoint != pid);
        self.ending.remove(&pid);
        let waiting =
            self.recording.iter().chain(&self.death_checkpoint).chain(self.due.iter().map(|(slice, _)| slice));
        let passes = self.passes.iter().flat_map(Passes::slots);
        let all = waiting.map(|slice| (slice.number, &slice.slot)).chain(passes);
        for (number, slot) in all.chain(self.running.iter().map(|slice| (slice.number, &slice.slot))) {
            if slot.checkpoint() == Some(pid) {
                slot.lose_checkpoint();
                if slot.process().is_none() {
                    return Err(Failure::Slice { slice: number, report: why(slot, exit) });
                }
            }
        }
        Ok(Ended::Other)
    }

    /// Ends all of them.
    pub fn kill(&mut self) {
        let checkpoints = std::mem::take(&mut self.checkpoints);
        self.end_processes(checkpoints.into_values());
        let due = self.due.drain(..).map(|(recording, _)| recording);
        let waiting = self.recording.take().into_iter().chain(self.death_checkpoint.take()).chain(due);
        let mut slots: Vec<_> = waiting.map(|recording| recording.slot).chain(self.kept.take()).collect();
        slots.extend(self.running.drain(..).map(|slice| slice.slot));
        slots.extend(self.passes.iter_mut().flat_map(Passes::take_slots));
        self.end(slots);
    }

    /// Ends the processes of slices. They have ended when this returns: nobody executes a program any more that only they did.
    fn end(&mut self, slots: Vec<ClaimedSlot>) {
        // The checkpoint process first: it could make another runner.
        slots.iter().for_each(|slot| self.end_processes(slot.checkpoint().into_iter().chain(slot.process())));
        if !slots.is_empty() {
            wait_for_killed(&self.ending);
        }
    }

    fn end_processes(&mut self, pids: impl Iterator<Item = i32>) {
        for pid in pids.filter(|pid| is_running_child(*pid as u32)) {
            kill(pid);
            self.ending.insert(pid);
        }
    }
}
