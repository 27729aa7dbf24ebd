//! The end of one slice and the start of the next.
//!
//! ```text
//!   master stops ─ signature ─ clone ─ the copy gives up its files ─ master goes on
//!                                                                  └ the slice that has ended is released
//!                                                                  └ the copy is taken over by the image: the next slice
//! ```
//! The order keeps the master's pause short. If the limit of running slices is reached, the master stands still before
//! the clone.

use std::time::Duration;

use bubble::boot::RunMode;
use bubble::shared::{EndKind, state};
use machine::signal_area::SignalArea;
use machine::x87::{self, Lost};
use tracee::{Stop, Stopped, TraceError};

use super::log;
use super::run::{Phase, Sliced};
use crate::app::{Prepared, is_kept_for_the_ended, kill, name_of, prepare, send};
use crate::base::{Failure, Moment};
use crate::report::Boundary;
use crate::sliced::boundaries::{Cut, Then};
use crate::sliced::master::{enter_handler, frame_elsewhere};
use crate::sliced::slices::Recording;
use crate::takeover::{self, Entered, take_over};

/// By how much a slice may be slower than the app. Most are so by 2 to 10.
const SLOWDOWN: u32 = 100;

impl Sliced<'_> {
    /// A new program, which has its name whatever comes of it.
    fn prepared(&mut self, process: &mut Stopped) -> Result<Prepared, Failure> {
        self.resources.name = name_of(self.process.pid());
        prepare(process)
    }

    /// Ends the recorded slice and starts the next, or holds the master until that is allowed.
    pub(super) fn cut(&mut self, mut stopped: Stopped, mut cut: Cut, since: Moment) -> Result<(), Failure> {
        match cut.then {
            Then::Nothing => {
                self.release(&mut cut);
                return self.resume(stopped, 0);
            }
            // Where it died in a call is known by the call's place; anything else has to be proved, see `fork`.
            Then::Death { signal, .. } if cut.end.as_ref().is_none_or(|end| end.kind == EndKind::Syscall) => {
                self.release(&mut cut);
                return self.resume(stopped, signal);
            }
            Then::LoneFork | Then::Write { .. } => self.release(&mut cut),
            _ => {}
        }
        let must_wait = match cut.then {
            Then::LoneFork => !self.slices.are_gone(),
            Then::Write { file, .. } => !self.slices.are_gone() || is_kept_for_the_ended(file),
            _ => false,
        };
        if must_wait || !self.slices.has_room(&self.resources.memory) {
            self.phase = Phase::Held(stopped, cut, Moment::now());
            return Ok(());
        }
        match cut.then {
            Then::Write { file, .. } => {
                self.process.memory().is_to_write(file);
                return self.resume(stopped, 0);
            }
            Then::Handler(signal) => match enter_handler(&mut self.process, stopped, signal)? {
                Some(entered) => {
                    stopped = entered;
                    if let Some(end) = &mut cut.end {
                        end.frame = frame_elsewhere(&stopped, end.registers.rsp())?;
                    }
                }
                None => return Err(Failure::Unsupported("a signal handler could not be entered".into())),
            },
            Then::Image => match self.prepared(&mut stopped) {
                Ok(prepared) => {
                    self.process.new_image(&mut stopped, prepared)?;
                    let is_first = self.slices.recorded().is_none();
                    self.thread.new_image(&mut stopped, self.process.gadget(), is_first)?;
                }
                Err(error) => {
                    self.release(&mut cut);
                    self.fail(error);
                    return self.detach(stopped);
                }
            },
            Then::Fork | Then::LoneFork | Then::Death { .. } | Then::Nothing => {}
        }
        if !matches!(cut.then, Then::Death { .. }) {
            cut.then = Then::Fork;
        }
        self.fork(stopped, cut, since)
    }

    fn fork(&mut self, mut stopped: Stopped, mut cut: Cut, since: Moment) -> Result<(), Failure> {
        let gadget = self.process.gadget();
        self.thread.ready_to_fork(&mut stopped, gadget)?;
        if x87::lost() != Lost::Nothing {
            // Else the master might go on with what its copy has lost.
            stopped.reload_xstate()?;
        }
        let signal_mask = stopped.signal_mask()?;
        let asks_cpuid = self.process.asks_cpuid(self.timer.is_image_young());
        self.process.ready_to_fork(&mut stopped);
        let before = Moment::now();
        let mut copy = match self.process.fork(&mut stopped) {
            Ok(copy) => copy,
            Err(error) if error.is_gone() => return Err(error.into()),
            Err(error) => return self.cannot_fork(stopped, cut, error),
        };
        self.resources.statistics.forked(before.elapsed());
        self.process.make_private(&mut stopped, &mut copy)?;
        let is_by_name = self.process.is_by_name();
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
        if self.process.forked(asks_cpuid) {
            self.timer.image_begins();
        }
        if let Then::Death { signal, by_instruction: false } = cut.then {
            // The fork has cost the signal; sent again it comes before another instruction.
            send(self.process.pid(), signal);
        }
        self.thread.forked(since.elapsed());
        let slice = self.slices.begin(copy.pid(), self.resources.memory.claim(state::BOOTING)?);
        self.process.arm(&self.thread, &slice, &mut stopped)?;
        self.resume(stopped, 0)?;
        self.timer.slice_begins(self.slice_time);
        self.resources.statistics.held(since.elapsed());
        self.resources.statistics.stopped_time += since.elapsed();
        if let (Some(_), Some(ended)) = (&cut.end, self.slices.recorded()) {
            ended.slot().set_successor(slice.slot().index());
        }
        self.end_recording(&mut cut);
        let is_slice = !matches!(cut.then, Then::Death { .. });
        self.start(copy, Start { entered, signal_mask, slice, is_slice, forked: before })?;
        // Only now: the slice whose end this was might take the processor on which the copy has been so far.
        self.slices.let_run();
        Ok(())
    }

    /// Memory or processes are short: the slice goes on if it can, or waits until others give theirs back.
    fn cannot_fork(&mut self, stopped: Stopped, cut: Cut, error: TraceError) -> Result<(), Failure> {
        let at_call = cut.end.as_ref().is_none_or(|end| end.kind == EndKind::Syscall);
        if cut.kind == Boundary::Timeout && !at_call {
            if let Some(slice) = self.slices.recorded_mut() {
                slice.set_due(false);
            }
            self.timer.slice_begins(self.slice_time);
            return self.resume(stopped, 0);
        }
        if self.slices.any_running() {
            self.phase = Phase::Held(stopped, cut, Moment::now());
            return Ok(());
        }
        self.fail(error.into());
        self.leave(stopped, Stop::Interrupted)
    }

    fn release(&mut self, cut: &mut Cut) {
        self.end_recording(cut);
        self.slices.let_run();
    }

    fn end_recording(&mut self, cut: &mut Cut) {
        if let Some(end) = cut.end.take() {
            self.resources.statistics.boundary(cut.kind);
            if let Some(slice) = self.slices.recorded() {
                log::comes_to_end(slice.number(), cut.kind, &end);
            }
            let bound = self.cpu_bound();
            self.slices.end_recording(end, bound, &mut self.resources.statistics);
        }
    }

    /// CPU time that the slice which has just ended in the master may use: what the master did, many times over.
    pub(super) fn cpu_bound(&mut self) -> Duration {
        match self.timer.used() {
            Some(used) if !self.grace.is_zero() => used * SLOWDOWN + self.grace,
            _ => Duration::ZERO,
        }
    }

    /// Makes a fork of the master the slice that is recorded, or the death checkpoint, of the state in which the app died.
    fn start(&mut self, mut copy: Stopped, start: Start) -> Result<(), Failure> {
        let before = Moment::now();
        let number = start.slice.number();
        let file_pages = self.process.file_pages();
        let site = takeover::Site {
            mode: RunMode::Slice,
            slot: start.slice.slot().index(),
            forked: Some(start.forked),
            file_pages: &file_pages,
            snapshot: self.resources.memory.snapshot(),
            signal_area: SignalArea::default(),
        };
        let known = takeover::Known {
            slice: number,
            signal_mask: start.signal_mask,
            brk: self.process.brk(),
            shares_memory: self.process.memory().is_shared(),
        };
        self.resources.statistics.slices_from_picture += u64::from(site.snapshot.is_some());
        let pid = copy.pid();
        log::forked(number, pid);
        let recording = self.slices.record(start.slice, start.is_slice);
        let taken = takeover::capture(&copy, known).and_then(|state| {
            take_over(&mut copy, start.entered, &state, &site, self.resources.image, &self.resources.memory)
        });
        let taken = taken.map(|steps| recording.is_taken_over_by(steps));
        if let Err(error) = taken.and_then(|()| copy.detach(0)) {
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
    slice: Recording,
    /// When the fork was made.
    forked: Moment,
    /// A slice, or only a death checkpoint.
    is_slice: bool,
}
