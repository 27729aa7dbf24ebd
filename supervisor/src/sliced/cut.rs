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

use bubble::boot::Mode;
use bubble::shared::{EndKind, state};
use machine::signal_area::SignalArea;
use machine::x87::{self, Lost};
use tracee::{Stop, Stopped, TraceError};

use super::log;
use super::run::{Phase, Sliced};
use crate::app::{Prepared, is_kept_for_the_ended, kill, name_of, prepare, send};
use crate::base::{Failure, Moment};
use crate::report::Boundary;
use crate::run_memory::ClaimedSlot;
use crate::sliced::boundaries::{Amount, Cut, Then};
use crate::sliced::instructions::{Wish, clock};
use crate::sliced::master::{Master, enter_handler, frame_elsewhere};
use crate::sliced::slices::Recording;
use crate::takeover::{self, Entered, take_over};

/// By how much a slice may be slower than the app. Most are so by 2 to 10.
const SLOWDOWN: u32 = 100;

impl Sliced<'_> {
    /// A new program, which has its name whatever comes of it.
    fn prepared(&mut self, process: &mut Stopped) -> Result<Prepared, Failure> {
        self.parts.name = name_of(self.master.pid);
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
        if must_wait || !self.slices.has_room(&self.parts.memory) {
            self.phase = Phase::Held(stopped, cut, Moment::now());
            return Ok(());
        }
        match cut.then {
            Then::Write { file, .. } => {
                self.master.is_to_write(file);
                return self.resume(stopped, 0);
            }
            Then::Handler(signal) => match enter_handler(stopped, signal, &mut self.master.passing)? {
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
                    self.master.random.new_image(&mut stopped)?;
                    self.master.prepared = prepared;
                    if self.slices.recording.is_none() {
                        self.master.clock_wish = Wish::of(&mut stopped, prepared.gate)?;
                    }
                    self.master.clock_open = true;
                    self.master.is_new_image = true;
                    self.master.see_identity();
                }
                Err(error) => {
                    self.release(&mut cut);
                    self.fail(error);
                    return self.part(stopped);
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
        let gate = self.master.prepared.gate;
        if self.master.clock_open {
            clock::trap(&mut stopped, gate, true, self.master.clock_wish)?;
            self.master.clock_open = false;
        }
        if x87::lost() != Lost::Nothing {
            // Else the master might go on with what its copy has lost.
            stopped.reload_xstate()?;
        }
        let signal_mask = stopped.signal_mask()?;
        let asks_cpuid =
            self.master.is_new_image || self.master.processor.is_for_cpuid() && self.timer.is_image_young();
        self.master.processor.give_back();
        self.master.random.traps.lift(&mut stopped);
        let before = Moment::now();
        let forked = stopped.fork(gate, self.master.parent);
        if !forked.as_ref().is_err_and(TraceError::is_gone) {
            self.master.random.traps.set(&mut stopped);
        }
        let mut copy = match forked {
            Ok(copy) => copy,
            Err(error) if error.is_gone() => return Err(error.into()),
            Err(error) => return self.cannot_fork(stopped, cut, error),
        };
        self.parts.statistics.forked(before.elapsed());
        if self.master.shares_memory {
            let Master { shared_copies, unstable, file_writes, is_by_name, .. } = &mut self.master;
            file_writes.before_copies();
            shared_copies.make_private(&stopped, &mut copy, gate, unstable, file_writes, *is_by_name)?;
        }
        let is_by_name = self.master.is_by_name;
        let entered = takeover::enter(&mut copy, gate, Mode::Slice, is_by_name, self.parts.image, &self.parts.memory);
        let entered = match entered {
            Ok(entered) => entered,
            Err(error) => {
                kill(copy.pid());
                return self.cannot_fork(stopped, cut, error);
            }
        };
        if std::mem::take(&mut self.master.is_new_image) {
            self.timer.image_begins();
        }
        if asks_cpuid {
            self.master.processor.keep();
        }
        self.master.is_due = false;
        self.master.interrupt_sent = false;
        self.master.last_recorded = None;
        if let Then::Death { signal, by_instruction: false } = cut.then {
            // The fork has cost the signal; sent again it comes before another instruction.
            send(self.master.pid, signal);
        }
        self.master.hold.after_boundary(since.elapsed());
        let slot = self.parts.memory.claim(state::BOOTING)?;
        self.master.arm(&mut stopped, &slot, Amount::default())?;
        self.resume(stopped, 0)?;
        self.timer.slice_begins(self.slice_time);
        self.parts.statistics.held(since.elapsed());
        self.parts.statistics.stopped_time += since.elapsed();
        if let (Some(_), Some(ended)) = (&cut.end, &self.slices.recording) {
            ended.slot().set_successor(slot.index());
        }
        self.end_recording(&mut cut);
        let is_slice = !matches!(cut.then, Then::Death { .. });
        self.start(copy, Start { entered, signal_mask, slot, is_slice, forked: before })?;
        // Only now: the slice whose end this was might take the processor on which the copy has been so far.
        self.slices.let_run();
        Ok(())
    }

    /// Memory or processes are short: the slice goes on if it can, or waits until others give theirs back.
    fn cannot_fork(&mut self, stopped: Stopped, cut: Cut, error: TraceError) -> Result<(), Failure> {
        let at_call = cut.end.as_ref().is_none_or(|end| end.kind == EndKind::Syscall);
        if cut.kind == Boundary::Timeout && !at_call {
            self.master.is_due = false;
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
            self.parts.statistics.boundary(cut.kind);
            if let Some(slice) = &self.slices.recording {
                log::comes_to_end(slice.number, cut.kind, &end);
            }
            let bound = self.cpu_bound();
            self.slices.end_recording(end, bound, &mut self.parts.statistics);
        }
    }

    /// CPU time that the slice which has just ended in the master may use: what the master did, many times over.
    pub(super) fn cpu_bound(&mut self) -> Duration {
        match self.timer.used() {
            Some(used) if !self.grace.is_zero() => used * SLOWDOWN + self.grace,
            _ => Duration::ZERO,
        }
    }

    /// Makes a fork of the master the slice that is recorded, or the witness of the state in which the app died.
    fn start(&mut self, mut copy: Stopped, start: Start) -> Result<(), Failure> {
        let before = Moment::now();
        let number = self.slices.next_number();
        let prepared = self.master.prepared;
        let file_pages = self.master.file_pages();
        let site = takeover::Site {
            mode: Mode::Slice,
            slot: start.slot.index(),
            forked: Some(start.forked),
            file_pages: &file_pages,
            picture: self.parts.memory.picture(),
            signal_area: SignalArea::default(),
        };
        let known = takeover::Known {
            slice: number,
            signal_mask: start.signal_mask,
            brk: prepared.brk,
            shares_memory: self.master.shares_memory,
        };
        self.parts.statistics.slices_from_picture += u64::from(site.picture.is_some());
        let pid = copy.pid();
        log::forked(number, pid);
        let recording = Recording::new(number, pid, start.slot);
        let place = if start.is_slice { &mut self.slices.recording } else { &mut self.slices.witness };
        let recording = place.insert(recording);
        let taken = takeover::capture(&copy, known)
            .and_then(|state| take_over(&mut copy, start.entered, &state, &site, self.parts.image, &self.parts.memory));
        let taken = taken.map(|steps| recording.is_taken_over_by(steps));
        if let Err(error) = taken.and_then(|()| copy.detach(0)) {
            kill(pid);
            return Err(Failure::Slice { slice: number, report: error.to_string() });
        }
        self.parts.statistics.take_over_time += before.elapsed();
        Ok(())
    }
}

/// How a fork of the master goes on.
struct Start {
    entered: Entered,
    signal_mask: u64,
    slot: ClaimedSlot,
    /// When the fork was made.
    forked: Moment,
    /// A slice, or only a witness.
    is_slice: bool,
}
