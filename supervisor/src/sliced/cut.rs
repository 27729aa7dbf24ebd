//! The end of one slice and the start of the next.
//!
//! ```text
//!   master stops ─ signature ─ clone ─ the copy gives up its files ─ master goes on
//!                                                                  └ the slice that has ended is released
//!                                                                  └ the copy is taken over by the image: the next slice
//! ```
//! The order keeps the master's pause short. If the limit of running slices is reached, the master stands still before the clone.

use bubble::behind::Behind;
use bubble::boot::RunMode;
use bubble::end::EndKind;
use bubble::shared::state;
use machine::signal_area::SignalArea;
use machine::x87::{self, Lost};
use tracee::{Parent, Stop, Stopped, TraceError};

use super::log;
use super::phases::Master;
use super::slices::TracedSlices;
use super::time::{SliceTime, TurnTime};
use crate::app::{Prepared, is_kept_for_the_ended, kill, name_of, note_all, prepare, send};
use crate::base::{Failure, Moment, affinity};
use crate::command::Settings;
use crate::follow::Resources;
use crate::report::Boundary;
use crate::sliced::boundaries::{Cut, Next, Then};
use crate::sliced::master::{self, enter_handler, frame_elsewhere};
use crate::sliced::slices::{Recording, Slices};
use crate::takeover::{self, Entered, take_over};

/// A sliced run: the master, and the slices that are forked from it.
pub(super) struct Run<'a> {
    pub(super) master: Master,
    pub(super) time: SliceTime,
    pub(super) slices: Slices,
    pub(super) resources: Resources<'a>,
    /// For how long a thread has had the turn.
    pub(super) turn: TurnTime,
    /// The app is to go on without us.
    pub(super) detaches: bool,
    /// The app was stopped by a stopping signal when it was attached to, and is to stay so.
    pub(super) stops_again: bool,
    /// Processes of slices, if those can't be our children: they are traced, which tells of their ends.
    pub(super) traced: TracedSlices,
}

impl<'a> Run<'a> {
    /// Of process `pid`, without slices.
    pub(super) fn new(pid: i32, parent: Parent, settings: &Settings, resources: Resources<'a>) -> Self {
        let slices = Slices::new(settings.max_running, settings.call_limit, &settings.region, settings.follow);
        let master = Master::new(pid, parent, settings);
        let turn = TurnTime::new(settings.slice_length.most());
        Self {
            master,
            time: SliceTime::new(settings),
            slices,
            resources,
            turn,
            detaches: false,
            stops_again: false,
            traced: TracedSlices::default(),
        }
    }

    /// The master.
    pub(super) fn master(&mut self) -> &mut Master {
        &mut self.master
    }

    /// The slices.
    pub(super) fn slices(&mut self) -> &mut Slices {
        &mut self.slices
    }

    /// What the run works with.
    pub(super) fn resources(&mut self) -> &mut Resources<'a> {
        &mut self.resources
    }

    /// The run has failed: slices end, the app goes on alone.
    pub(super) fn fail(&mut self, error: Failure) {
        if !self.master.has_failed() {
            self.slices.kill();
            self.master.fail(error);
        }
    }

    /// The timer's signal has come. Inside a system call its exit is soon enough; otherwise the master is interrupted.
    pub(super) fn time_is_over(&mut self) {
        if self.slices.last_of_all().is_some() {
            // What is recorded doesn't matter.
            return;
        }
        // If its time was over before, this is to ask again.
        let slice = self.slices.recorded_mut();
        if slice.as_ref().is_some_and(|slice| slice.is_due()) || self.time.is_over() {
            if let Some(slice) = slice {
                slice.set_due(true);
            }
            self.master.interrupt();
        } else {
            self.resources.statistics.given_more_time += 1;
        }
    }

    /// The time of the slice is over, but it can't be cut here: it is asked again soon.
    pub(super) fn ask_again(&mut self, stopped: Stopped) -> Result<(), Failure> {
        self.time.ask_again();
        self.master.resume(stopped, 0)
    }

    /// Takes the stopped master back from the recorder inside it. Gives the stop, if there is anything left of it to be handled.
    pub(super) fn take_back(&mut self, stopped: Stopped, stop: Stop) -> Result<(Stopped, Option<Stop>), Failure> {
        let (process, thread) = self.master.parts();
        let taken_back = master::take_back(process, thread, self.slices.recorded_mut(), stopped, stop)?;
        self.resources.statistics.recorded_in_process = process.recorded_inside();
        Ok(taken_back)
    }

    /// Whether no slice is recorded any more: the app is on its way out.
    pub(super) fn is_after_the_end(&mut self) -> bool {
        self.slices.recorded().is_none() && !self.master.thread().is_alone()
    }

    /// What comes after a stop, unless it is after the end.
    pub(super) fn next(&mut self, stopped: Stopped, stop: Stop) -> Result<Next, Failure> {
        let (process, thread) = self.master.parts();
        match self.slices.recorded_mut() {
            Some(slice) => master::handle(process, thread, slice, stopped, stop),
            None => master::exit_alone(process, thread, stopped, stop),
        }
    }

    /// Lets the master go on after a stop: in the care of the recorder inside it, if it gets no signal.
    pub(super) fn resume(&mut self, mut stopped: Stopped, signal: i32) -> Result<(), Failure> {
        // Behind its next call another thread is to go on.
        let gives_way = self.turn.is_over() && !self.master.queue.is_empty();
        if signal == 0 {
            self.master.goes_on_in_care(self.slices.recorded().filter(|_| !gives_way), &mut stopped)?;
        }
        self.master.thread().renew_interrupt(&stopped)?;
        self.master.resume(stopped, signal)
    }

    /// Something that the master may be waiting for has happened.
    pub(super) fn retry(&mut self) -> Result<(), Failure> {
        if !self.has_room() {
            return Ok(());
        }
        let Some((stopped, cut, since)) = self.master.take_held() else { return Ok(()) };
        self.resources.statistics.slept(since);
        self.cut(stopped, cut, Moment::now())
    }

    /// A new program, which has its name whatever comes of it.
    fn prepared(&mut self, process: &mut Stopped) -> Result<Prepared, Failure> {
        let pid = self.master.process().pid();
        self.resources.name = name_of(pid);
        note_all(pid, &self.resources.memory.files()?);
        prepare(process)
    }

    /// Ends the recorded slice and starts the next, or holds the master until that is allowed.
    pub(super) fn cut(&mut self, mut stopped: Stopped, mut cut: Cut, since: Moment) -> Result<(), Failure> {
        if self.detaches && matches!(cut.then, Then::Fork | Then::LoneFork | Then::Write { .. }) {
            return self.cut_last(stopped, cut, since);
        }
        match cut.then {
            Then::Nothing => {
                self.release(&mut cut);
                self.master.first_goes_on();
                return self.master.resume(stopped, 0);
            }
            // Where it died in a call is known by the call's place; anything else has to be proved, see `fork`.
            Then::Death { signal, .. } if cut.end.as_ref().is_none_or(|end| end.kind == EndKind::Syscall) => {
                self.release(&mut cut);
                return self.master.resume(stopped, signal);
            }
            Then::LoneFork | Then::Write { .. } => self.release(&mut cut),
            _ => {}
        }
        let must_wait = match cut.then {
            Then::LoneFork => !self.slices.are_gone(),
            Then::Write { file, .. } => !self.slices.are_gone() || is_kept_for_the_ended(file),
            _ => false,
        };
        if must_wait || !self.has_room() {
            self.master.hold(stopped, cut);
            return Ok(());
        }
        match cut.then {
            Then::Write { file, .. } => {
                self.master.process().memory().is_to_write(file);
                return self.master.resume(stopped, 0);
            }
            Then::Handler(signal) => {
                let Some((entered, info)) = enter_handler(self.master.process(), stopped, signal)? else {
                    return Err(Failure::Unsupported("a signal handler could not be entered".into()));
                };
                stopped = entered;
                cut.behind = cut.behind.with_signal(&info);
                if let Some(end) = &mut cut.end {
                    end.frame = frame_elsewhere(&stopped, end.registers.rsp())?;
                }
            }
            Then::Image => match self.prepared(&mut stopped) {
                Ok(prepared) => {
                    // It has ended all others.
                    self.master.others.clear();
                    self.master.queue.clear();
                    let is_first = self.slices.recorded().is_none();
                    let (process, thread) = self.master.parts();
                    process.new_image(&mut stopped, prepared)?;
                    thread.new_image(&mut stopped, process.gadget(), is_first)?;
                }
                Err(error) => {
                    self.release(&mut cut);
                    self.fail(error);
                    return self.master.detach(stopped);
                }
            },
            Then::Fork | Then::LoneFork | Then::Death { .. } | Then::Nothing => {}
        }
        if !matches!(cut.then, Then::Death { .. }) {
            cut.then = Then::Fork;
        }
        self.fork(stopped, cut, since)
    }

    pub(super) fn fork(&mut self, mut stopped: Stopped, mut cut: Cut, since: Moment) -> Result<(), Failure> {
        let (process, thread) = self.master.parts();
        let gadget = process.gadget();
        thread.ready_to_fork(&mut stopped, gadget)?;
        if x87::lost() != Lost::Nothing {
            // Else the master might go on with what its copy has lost.
            stopped.reload_xstate()?;
        }
        let signal_mask = stopped.signal_mask()?;
        let asks_cpuid = process.asks_cpuid(self.time.is_image_young());
        process.ready_to_fork(&mut stopped);
        let before = Moment::now();
        let mut copy = match process.fork(&mut stopped) {
            Ok(copy) => copy,
            Err(error) if error.is_gone() => return Err(error.into()),
            Err(error) => return self.cannot_fork(stopped, cut, error),
        };
        self.resources.statistics.forked(before.elapsed());
        process.make_private(&mut stopped, &mut copy)?;
        let is_by_name = process.is_by_name();
        let entered = takeover::enter(
            &mut copy,
            gadget,
            RunMode::Slice,
            is_by_name,
            self.resources.image,
            &self.resources.memory,
        );
        let entered = match entered {
            Ok(entered) => entered,
            Err(error) => {
                kill(copy.pid());
                return self.cannot_fork(stopped, cut, error);
            }
        };
        if asks_cpuid {
            thread.processor.keep();
        }
        if process.forked(asks_cpuid) {
            self.time.image_begins();
        }
        if let Then::Death { signal, by_instruction: false } = cut.then {
            // The fork has cost the signal; sent again it comes before another instruction.
            send(process.pid(), signal);
        }
        thread.forked(since.elapsed());
        let mut slice = self.slices.begin(copy.pid(), self.resources.memory.claim(state::BOOTING)?);
        self.tell_of_threads(&mut slice, &stopped)?;
        if cut.then == Then::Fork && self.gives_way_at_start() {
            self.give_way(stopped)?;
        } else {
            self.master.goes_on_in_care(Some(&slice), &mut stopped)?;
            if std::mem::take(&mut self.stops_again) {
                // It is in the hands of the kernel still, which stops it at once.
                stopped.interrupt()?;
            }
            self.master.resume(stopped, 0)?;
        }
        self.turn.slice_begins(self.time.slice_begins(&self.resources.statistics.costs()));
        self.resources.statistics.held(slice.number(), since);
        if let (Some(_), Some(ended)) = (&cut.end, self.slices.recorded()) {
            ended.slot().set_successor(slice.slot().index());
        }
        self.end_recording(&mut cut);
        let is_slice = !matches!(cut.then, Then::Death { .. });
        self.start(copy, Start { entered, signal_mask, behind: cut.behind, slice, is_slice, forked: before })?;
        // Only now: the slice whose end this was might take the processor on which the copy has been so far.
        self.slices.let_run();
        if self.detaches {
            self.hurry();
        }
        Ok(())
    }

    /// Memory or processes are short: the slice goes on if it can, or waits until others give theirs back.
    fn cannot_fork(&mut self, stopped: Stopped, cut: Cut, error: TraceError) -> Result<(), Failure> {
        let at_call = cut.end.as_ref().is_none_or(|end| end.kind == EndKind::Syscall);
        if cut.kind == Boundary::Timeout && !at_call {
            if let Some(slice) = self.slices.recorded_mut() {
                slice.set_due(false);
            }
            self.time.slice_begins(&self.resources.statistics.costs());
            return self.master.resume(stopped, 0);
        }
        if self.slices.any_running() {
            self.master.hold(stopped, cut);
            return Ok(());
        }
        self.fail(error.into());
        match cut.then.signal() {
            Some(signal) => self.master.resume(stopped, signal),
            None => self.master.leave(stopped, Stop::Interrupted),
        }
    }

    pub(super) fn release(&mut self, cut: &mut Cut) {
        self.end_recording(cut);
        self.slices.let_run();
    }

    fn end_recording(&mut self, cut: &mut Cut) {
        if let Some(end) = cut.end.take() {
            self.resources.statistics.boundary(cut.kind);
            let (used, pid) = (self.time.used(), self.master.process().pid());
            if let Some(slice) = self.slices.recorded() {
                log::comes_to_end(slice.number(), cut.kind, &end);
                self.resources.statistics.recorded(pid, slice.number(), cut.kind, used.unwrap_or_default());
            }
            let bound = self.time.cpu_bound(used);
            self.slices.end_recording(end, bound, &mut self.resources.statistics);
        }
    }

    /// Makes a fork of the master the slice that is recorded, or the death checkpoint, of the state in which the app died.
    fn start(&mut self, mut copy: Stopped, start: Start) -> Result<(), Failure> {
        let before = Moment::now();
        let number = start.slice.number();
        let process = self.master.process();
        let file_pages = process.file_pages();
        let site = takeover::Site {
            mode: RunMode::Slice,
            slot: start.slice.slot().index(),
            forked: Some(start.forked),
            file_pages: &file_pages,
            snapshot: self.resources.memory.snapshot(),
            signal_area: SignalArea::default(),
            is_traced: self.traced.are_wanted(),
            registered: [0; 3],
            others: 0,
        };
        let known = takeover::Known {
            slice: number,
            signal_mask: start.signal_mask,
            brk: process.brk(),
            behind: start.behind,
            tid: process.pid(),
            shares_memory: process.memory().is_shared(),
        };
        self.resources.statistics.slices_from_snapshot += u64::from(site.snapshot.is_some());
        let pid = copy.pid();
        affinity::set_free(pid);
        log::forked(number, pid);
        let recording = self.slices.record(start.slice, start.is_slice);
        let taken = takeover::capture(&copy, known).and_then(|state| {
            take_over(&mut copy, start.entered, &state, &site, self.resources.image, &self.resources.memory)
        });
        let taken = taken.map(|steps| recording.is_taken_over_by(steps));
        if let Err(error) = taken.and_then(|()| self.traced.release(copy)) {
            kill(pid);
            return Err(Failure::Slice { slice: number, report: error.to_string() });
        }
        self.resources.statistics.take_over_time += before.elapsed();
        Ok(())
    }
}

/// How a fork of the master goes on.
struct Start {
    entered: Entered,
    signal_mask: u64,
    behind: Behind,
    slice: Recording,
    /// When the fork was made.
    forked: Moment,
    /// A slice, or only a death checkpoint.
    is_slice: bool,
}
