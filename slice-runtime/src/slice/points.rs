//! Points: a signal comes, or a turn ends, in the midst of the app's code. Where that was the log says by the state, as the slot does of a slice's end.
//!
//! ```text
//!   the next record is a point ──► armed ──► its registers, stack, memory ──► a look ahead ──┬─► the handler begins
//!                                                                                           └─► another thread goes on
//! ```
//!
//! Two states that agree in all of that are the same: what the app does from the one on it does from the other. So it makes no difference which of them is taken, but for how
//! often the app has gone round between them: hence the look ahead.

use bubble::end::{End, EndKind};
use bubble::shared::PointStats;
use engine::{Control, Flow};
use machine::Here;
use syscall_replay::Replayed;
use translator::abi::Cpu;

use super::host::SliceHost;
use super::proof::whole_words;
use crate::ports::SignalChange;
use crate::slice::end::expected_memory::Unseen;
use crate::slice::end::point::Point;
use crate::slice::end::recurrence::Watch;
use crate::slice::end::{ahead, verify, xsave_images};
use crate::slice::replay::SliceSpace;

impl SliceHost {
    /// What is looked for: the next point, or the end.
    pub(super) fn sought(&self) -> &End {
        self.point.as_ref().map_or(self.end, |point| &point.end)
    }

    /// The app goes on behind a record: if the next is a point, or there is none, it is looked for the place.
    pub(super) fn arm_next(&mut self, control: &mut dyn Control) {
        if self.point.is_some() {
            return;
        }
        if let Some(told) = self.replaying.take(|log| log.next_point()) {
            let is_sound = self.expected.changes(told.changes());
            let Some(xstate) = told.xstate.load().filter(|_| is_sound) else {
                self.fail(&"what the log says of a place makes no sense here");
            };
            let ends_turn = self.replaying.take(|log| Some(log.ends_turn_at_point())).unwrap_or(false);
            let point = Point::new(&told, &xstate, ends_turn);
            control.arm(&point.end.registers, point.end.stands);
            self.point = Some(Box::new(point));
        } else if self.replaying.is_exhausted() && self.end.kind == EndKind::Signature {
            control.arm(&self.end.registers, self.end.stands);
        }
    }

    /// The signature is the point's: whether memory is, too.
    pub(super) fn is_at_point(&mut self, control: &mut dyn Control) -> bool {
        let live_from =
            self.point.as_ref().map(|point| point.live_from).into_iter().chain(self.others.first_lives_from());
        let unseen =
            Unseen { live_from: live_from.collect(), written: whole_words(self.others.written_by_kernel()).collect() };
        self.memory_checks += 1;
        let difference = self.expected.difference(&self.memory, &unseen, xsave_images::stored());
        let Some(verify::Difference { address, expected }) = difference else { return true };
        control.require_word(address, expected);
        self.refused = difference;
        false
    }

    /// The app is at the point.
    pub(super) fn at_point(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let ends_turn = self.point.as_ref().is_some_and(|point| point.ends_turn);
        if let Some(ahead) = self.lookers.look(cpu.registers.rip, ends_turn) {
            self.memory = Here::new();
            // Others keep off the slice's next point, and not off the one that this copy looks for; nor would the copy keep off the slice's.
            control.leave_shared();
            self.watch = Some(Watch::ahead(ahead));
            return Flow::Continue;
        }
        self.points += 1;
        (self.point, self.refused, self.nearest) = (None, None, None);
        control.disarm();
        if let Err(divergence) = self.replaying.replay(|log| log.at_point(cpu.registers.rip)) {
            self.diverged(&divergence);
        }
        if let Some(goes_on) = self.turn(None, cpu, control) {
            return self.go_on(Ok(goes_on), cpu, control);
        }
        let (memory, files, program_break) = (self.memory, self.files, &mut self.program_break);
        let mut space = SliceSpace { memory, files, program_break, control: &mut *control };
        match self.replaying.replay(|log| log.delivery(&mut cpu.registers, &mut space)) {
            Ok(Replayed::Delivered(xstate, origin)) => {
                self.restore(xstate, cpu);
                self.tell_of_signal(|memory| SignalChange::at_handler(&cpu.registers, origin, memory));
            }
            Ok(_) => self.fail(&"nothing takes place where the log says that something does"),
            Err(divergence) => self.diverged(&divergence),
        }
        self.arm_next(control);
        Flow::Continue
    }

    /// What is to be known of points, when all is over.
    pub fn finish_points(&mut self) -> PointStats {
        PointStats { reached: self.points, ..self.lookers.finish() }
    }
}

/// While it is watched whether a state recurs.
impl SliceHost {
    /// The app asks for something: it hasn't come back.
    pub(super) fn leaves_watch(&mut self) -> Flow {
        if self.is_ahead() { ahead::goes_away() } else { Flow::Leave }
    }

    /// Whether this process looks ahead from a point.
    pub(super) fn is_ahead(&mut self) -> bool {
        self.watch.as_mut().is_some_and(|watch| watch.as_ahead().is_some())
    }

    /// The time for which it is watched may be over.
    pub(super) fn watch_is_interrupted(&mut self, pc: u64) -> Flow {
        let at_point = pc == self.sought().registers.rip;
        let Some(watch) = &mut self.watch else { return Flow::Leave };
        if at_point {
            watch.begins_again();
        }
        let Some(ahead) = watch.as_ahead() else { return Flow::Leave };
        ahead.is_interrupted();
        Flow::Continue
    }

    /// The state is there again. Whether that is all that is to be known.
    pub(super) fn comes_back(&mut self) -> Flow {
        match self.watch.as_mut().and_then(Watch::as_ahead) {
            Some(ahead) => {
                ahead.comes_back();
                Flow::Continue
            }
            None => {
                self.slot.set_end_recurs();
                Flow::Leave
            }
        }
    }
}
