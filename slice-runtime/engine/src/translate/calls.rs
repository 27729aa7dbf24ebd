//! Analysis calls: where block-level calls go, and how calls are made.

use std::ops::Range;

use bubble::switches::Optimisation;
use isa::{Kind, Usage};
use machine::{AppPc, flags};

use super::inline::{InPlace, Spot};
use super::{Rules, Translator, drain, reserved};
use crate::ahead::may_be_seen;
use crate::descriptor::Descriptor;
use crate::instrument::{Call, Point, Trace};
use crate::statemap::{BlockCall, CallMark, IN_TARGET, Place, as_bytes};
use crate::tables::ExitKind;

/// For each instruction, the arithmetic flags that something may still read before it.
///
/// Nothing is known about what follows a block at first. Where that leaves no place for the block's calls at which all flags are
/// dead, it is looked up. Before an instruction that may fault flags are live only if the app can see them there: otherwise
/// the instruction is executed again, in the end, and so is the one that overwrites them.
pub fn find_live_flags(trace: &Trace, usages: &[Usage], rules: &mut Rules<'_>, live: &mut Vec<u64>) {
    live.resize(usages.len(), 0);
    for block in (0..trace.block_ends.len()).rev() {
        let range = trace.block(block);
        scan(trace, usages, range.clone(), flags::ARITHMETIC, rules.exact_faults, live);
        let in_block = |call: &&Call| match call.point {
            Point::Anywhere(other) => other == block,
            point => point.index().is_some_and(|index| range.contains(&index) && live[index] != 0),
        };
        let mut here = trace.calls.iter().filter(in_block);
        let looks = block == 0 && live[0] != 0 && drain::may_drain(trace, rules.off);
        let wanted = looks || here.any(|call| !reserved::adds_to_tally(call, rules.known, rules.counters));
        if wanted && range.clone().all(|i| live[i] != 0) {
            let after = live_after(trace, range.end, live, rules);
            scan(trace, usages, range, after, rules.exact_faults, live);
        }
    }
}

/// Fills in `live` for one block, after which the flags in `after` are live.
fn scan(trace: &Trace, usages: &[Usage], range: Range<usize>, after: u64, exact_faults: bool, live: &mut [u64]) {
    let mut now = after;
    for i in range.rev() {
        let usage = &usages[i];
        // Of what leaves a trace, these are looked at from the outside.
        let known = matches!(
            trace.instructions[i].kind(),
            Kind::Plain
                | Kind::SegmentBase { .. }
                | Kind::Jump { .. }
                | Kind::Call { .. }
                | Kind::Branch { .. }
                | Kind::CountBranch { .. }
        );
        now = if !known || may_be_seen(usage, exact_faults) {
            flags::ARITHMETIC
        } else {
            (now & !usage.flags_killed) | (usage.flags_read & flags::ARITHMETIC)
        };
        live[i] = now;
    }
}

/// The flags that are live after the block that ends before instruction `end`. `live` is known from there on.
fn live_after(trace: &Trace, end: usize, live: &[u64], rules: &mut Rules<'_>) -> u64 {
    let last = &trace.instructions[end - 1];
    let next = |rules: &mut Rules<'_>| live.get(end).copied().unwrap_or_else(|| (rules.live_at)(last.next_pc()));
    match last.kind() {
        Kind::Plain | Kind::SegmentBase { .. } => next(rules),
        Kind::Jump { target } | Kind::Call { target } => (rules.live_at)(target),
        Kind::Branch { target, .. } | Kind::CountBranch { target } => {
            let taken = (rules.live_at)(target);
            if taken == flags::ARITHMETIC { taken } else { taken | next(rules) }
        }
        _ => flags::ARITHMETIC,
    }
}

/// For each block-level call, the instruction before which it is cheapest: the first one where all flags are dead, or the first
/// of all for one that doesn't change them.
pub fn place(trace: &Trace, live: &[u64], rules: &Rules<'_>) -> Vec<Option<usize>> {
    let at = |block: usize| {
        let range = trace.block(block);
        let cheapest = || range.clone().find(|&i| live[i] == 0);
        rules.off.leaves(Optimisation::Anywhere).then(cheapest).flatten().unwrap_or(range.start)
    };
    trace
        .calls
        .iter()
        .map(|call| match call.point {
            Point::Anywhere(block) if reserved::adds_to_tally(call, rules.known, rules.counters) => {
                Some(trace.block(block).start)
            }
            Point::Anywhere(block) => Some(at(block)),
            _ => None,
        })
        .collect()
}

impl Translator<'_> {
    /// The calls that are made before instruction `index` of block `block`.
    pub(super) fn calls_before(&mut self, index: usize, block: usize) {
        let pc = self.trace.instructions[index].pc().0;
        let live_flags = self.live_flags[index];
        let spot = Spot { index, block, state: index, pc, place: Place::Static, live_flags };
        for n in 0..self.trace.calls.len() {
            let call = &self.trace.calls[n];
            match call.point {
                Point::Before(at) if at == index => match call.of_test() {
                    Some(test) => self.tested_call(&test, call, spot),
                    None => self.call_before(call, spot, index..index + 1),
                },
                Point::Anywhere(block) if self.placed[n] == Some(index) => {
                    self.call_before(call, spot, self.trace.block(block));
                }
                _ => {}
            }
        }
    }

    /// Emits a call that stands for the instructions in `range`.
    fn call_before(&mut self, call: &Call, spot: Spot, range: Range<usize>) {
        let descriptor = Descriptor::new(call, &self.trace.instructions[spot.index], range.len());
        let InPlace { begun, done } = self.emit_call(call, spot, descriptor, range.len());
        let counts = !call.is_corrected() && matches!(call.point, Point::Before(_));
        if begun != done || counts {
            let pc = if counts { spot.pc } else { 0 };
            self.call_marks.push(CallMark { pc, begun, owed: done, made: done, descriptor: 0 });
        }
        if call.is_corrected() {
            let block_call = BlockCall {
                first: self.trace.instructions[range.start].pc().0,
                end: self.trace.instructions[range.end - 1].next_pc().0,
                done,
                descriptor: self.add_descriptor(descriptor),
            };
            self.block_calls.push(block_call);
        }
    }

    fn emit_call(&mut self, call: &Call, spot: Spot, descriptor: Descriptor, instructions: usize) -> InPlace {
        let translated = self.inline_call(call, spot, instructions);
        translated.or_else(|| self.direct_call(call, spot, descriptor, instructions)).unwrap_or_else(|| {
            self.call_out_of_line(descriptor, AppPc(spot.pc));
            let done = self.offset();
            InPlace { begun: done, done }
        })
    }

    /// Whether there are calls at this point.
    pub(super) fn has_calls(&self, point: Point) -> bool {
        self.trace.calls.iter().any(|call| call.point == point)
    }

    /// The calls after instruction `index`, which has been executed.
    pub(super) fn calls_after(&mut self, index: usize, block: usize) {
        if !self.has_calls(Point::After(index)) {
            return;
        }
        let pc = self.trace.instructions[index].next_pc().0;
        let next = self.live_flags.get(index + 1);
        let place = if next.is_some() { Place::Static } else { Place::Left };
        let live_flags = next.copied().unwrap_or(flags::ARITHMETIC);
        let executed = self.executed(index);
        self.owed_calls(executed, Point::After(index), Spot { index, block, state: index + 1, pc, place, live_flags });
    }

    /// The calls of a branch that has been taken since the offset `gone` and goes on at `target`; `None`: at what [`ThreadState::target`](crate::thread::ThreadState) says.
    pub(super) fn calls_taken(&mut self, index: usize, block: usize, target: Option<AppPc>, gone: u32) {
        let place = if target.is_some() { Place::Left } else { Place::InTarget };
        let pc = target.map_or(IN_TARGET, |target| target.0);
        let spot = Spot { index, block, state: index + 1, pc, place, live_flags: flags::ARITHMETIC };
        let here = self.offset();
        self.owed_calls([gone..here, here..here], Point::Taken(index), spot);
    }

    /// Where the last instruction emitted has been executed already: what it needs behind it.
    fn executed(&mut self, index: usize) -> [Range<u32>; 2] {
        let here = self.offset();
        let instruction = &self.trace.instructions[index];
        let mut from = here;
        if matches!(instruction.kind(), Kind::Plain | Kind::SegmentBase { .. }) {
            let behind = self.map.iter().rev().take_while(|entry| entry.pc == instruction.next_pc().0);
            from = behind.last().map_or(here, |entry| entry.offset);
        }
        [self.not_taken.take().unwrap_or(here..here), from..here]
    }

    /// Emits calls that are owed from here on, and before here where it is `happened`: what they stand for has happened.
    fn owed_calls(&mut self, happened: [Range<u32>; 2], point: Point, spot: Spot) {
        self.mark_spot(spot, &[], false);
        let owed = self.offset();
        for call in self.trace.calls.iter().filter(|call| call.point == point) {
            let descriptor = Descriptor::new(call, &self.trace.instructions[spot.index], 1);
            let InPlace { begun, done } = self.emit_call(call, spot, descriptor, 1);
            let described = self.add_descriptor(descriptor);
            self.call_marks.push(CallMark { pc: 0, begun, owed: done, made: done, descriptor: 0 });
            let earlier = happened.iter().cloned().chain(std::iter::once(owed..begun));
            self.call_marks.extend(earlier.filter(|range| !range.is_empty()).map(|range| {
                let owed = range.start;
                CallMark { pc: 0, begun: owed, owed, made: range.end, descriptor: described }
            }));
        }
        self.mark_spot(spot, &[], false);
    }

    /// Leaves for a call before the instruction at `pc`.
    pub(super) fn call_out_of_line(&mut self, descriptor: Descriptor, pc: AppPc) {
        let argument = self.add_descriptor(descriptor);
        self.leave_for_call(pc, argument);
    }

    /// The same for a descriptor that was added.
    pub(super) fn leave_for_call(&mut self, pc: AppPc, descriptor: u32) {
        let exit = self.leave(ExitKind::Call, pc, descriptor);
        self.exits[exit].site = self.site.offset + self.offset();
    }

    /// Arena offset that the descriptor will have.
    pub(super) fn add_descriptor(&mut self, descriptor: Descriptor) -> u32 {
        let at = self.site.arena as usize + as_bytes(&self.descriptors).len();
        descriptor.store(&mut self.descriptors);
        at as u32
    }
}
