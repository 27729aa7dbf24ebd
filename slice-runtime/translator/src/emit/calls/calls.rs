//! Analysis calls: where block-level calls go, and how calls are made.

use std::ops::Range;

use bubble::routines::way;
use isa::Kind;
use machine::{AppPc, flags};

use super::{InPlace, Spot};
use crate::abi::{BlockCall, CallDescriptor, CallMark, IN_TARGET, PcSource};
use crate::emit::emitter::Emitter;
use crate::trace::{AnalysisCall, Form, Point};

impl Emitter<'_> {
    /// The calls that are made before instruction `index` of block `block`.
    pub(in crate::emit) fn calls_before(&mut self, index: usize, block: usize) {
        let pc = self.facts.trace.instructions[index].pc().0;
        let live_flags = self.facts.live_flags[index];
        let spot = Spot { index, block, state: index, pc, source: PcSource::Static, live_flags };
        for n in 0..self.facts.trace.calls.len() {
            let call = &self.facts.trace.calls[n];
            match call.point {
                Point::Before(at) if at == index => match call.of_test() {
                    Some(test) => self.tested_call(&test, call, spot),
                    None => self.call_before(call, spot, index..index + 1),
                },
                Point::Anywhere(block) if self.facts.placed[n] == Some(index) => {
                    self.call_before(call, spot, self.facts.trace.block(block));
                }
                _ => {}
            }
        }
    }

    /// Emits a call that stands for the instructions in `range`.
    fn call_before(&mut self, call: &AnalysisCall, spot: Spot, range: Range<usize>) {
        let descriptor = CallDescriptor::new(call, &self.facts.trace.instructions[spot.index], range.len());
        let InPlace { begun, done } = self.emit_call(call, spot, &descriptor, range.len());
        let block_start = self.facts.trace.instructions[range.start].pc().0;
        let is_first = range.start == spot.index;
        let of_block = matches!(call.point, Point::Anywhere(_)) && !call.is_compensated();
        // Who may have the app go on elsewhere has begun nothing.
        let counts = !call.is_compensated() && is_first && call.form != Form::App;
        if begun != done || counts {
            let pc = if counts { spot.pc } else { 0 };
            let block = if of_block { block_start } else { 0 };
            let by_runtime = counts && !of_block && self.is_at_end(spot.index);
            let described = if by_runtime { self.add_descriptor(&descriptor) } else { 0 };
            self.marks.call_marks.push(CallMark { pc, block, begun, pending: done, made: done, descriptor: described });
        }
        if of_block {
            // What is made once for each execution of a block is made for one that is left early, wherever in the block its place is.
            let pending = self.marks.block_begin;
            let descriptor = self.add_descriptor(&descriptor);
            self.marks.call_marks.push(CallMark {
                pc: 0,
                block: block_start,
                begun: pending,
                pending,
                made: begun,
                descriptor,
            });
        }
        if call.is_compensated() {
            let block_call = BlockCall {
                first: block_start,
                end: self.facts.trace.instructions[range.end - 1].next_pc().0,
                done,
                descriptor: self.add_descriptor(&descriptor),
            };
            self.marks.block_calls.push(block_call);
        }
    }

    /// Whether it is asked before this instruction if it is the end: then the runtime may make the calls before it.
    pub(in crate::emit) fn is_at_end(&self, index: usize) -> bool {
        self.shape.check.is_some_and(|(at, _)| at == index)
    }

    fn emit_call(
        &mut self,
        call: &AnalysisCall,
        spot: Spot,
        descriptor: &CallDescriptor,
        instructions: usize,
    ) -> InPlace {
        if let Some(in_place) = self.inline_call(call, spot, instructions) {
            self.rules.known.note(call, way::IN_PLACE, 0);
            return in_place;
        }
        self.direct_call(call, spot, descriptor, instructions).unwrap_or_else(|why| {
            let described = self.add_descriptor(descriptor);
            if self.may_be_clean(call) {
                self.rules.known.note(call, way::ASIDE, why);
                return self.clean_call(call.routine, spot, described);
            }
            self.rules.known.note(call, way::LEAVES, why);
            self.leave_for_call(AppPc(spot.pc), described);
            let done = self.offset();
            InPlace { begun: done, done }
        })
    }

    /// The calls after instruction `index`, which has been executed.
    pub(in crate::emit) fn calls_after(&mut self, index: usize, block: usize) {
        if !self.has_calls(Point::After(index)) {
            return;
        }
        let pc = self.facts.trace.instructions[index].next_pc().0;
        let next = self.facts.live_flags.get(index + 1);
        let source = if next.is_some() { PcSource::Static } else { PcSource::Left };
        let live_flags = next.copied().unwrap_or(flags::ARITHMETIC);
        let executed = self.executed(index);
        self.pending_calls(
            executed,
            Point::After(index),
            Spot { index, block, state: index + 1, pc, source, live_flags },
        );
    }

    /// The calls of a branch that has been taken since the offset `gone` and goes on at `target`; `None`: at what [`ThreadState::target`](crate::abi::ThreadState) says.
    pub(in crate::emit) fn calls_taken(&mut self, index: usize, block: usize, target: Option<AppPc>, gone: u32) {
        let source = if target.is_some() { PcSource::Left } else { PcSource::InTarget };
        let pc = target.map_or(IN_TARGET, |target| target.0);
        let spot = Spot { index, block, state: index + 1, pc, source, live_flags: flags::ARITHMETIC };
        let here = self.offset();
        self.pending_calls([gone..here, here..here], Point::Taken(index), spot);
    }

    /// Where the last instruction emitted has been executed already: what it needs behind it.
    fn executed(&mut self, index: usize) -> [Range<u32>; 2] {
        let here = self.offset();
        let instruction = &self.facts.trace.instructions[index];
        let mut from = here;
        if matches!(instruction.kind(), Kind::Plain | Kind::SegmentBase { .. }) {
            let behind = self.marks.map.iter().rev().take_while(|entry| entry.pc == instruction.next_pc().0);
            from = behind.last().map_or(here, |entry| entry.offset);
        }
        [self.marks.not_taken.take().unwrap_or(here..here), from..here]
    }

    /// Emits calls that are pending from here on, and before here where it is `happened`: what they stand for has happened.
    fn pending_calls(&mut self, happened: [Range<u32>; 2], point: Point, spot: Spot) {
        self.mark_spot(spot, &[], false);
        let pending = self.offset();
        for call in self.facts.trace.calls.iter().filter(|call| call.point == point) {
            let descriptor = CallDescriptor::new(call, &self.facts.trace.instructions[spot.index], 1);
            let InPlace { begun, done } = self.emit_call(call, spot, &descriptor, 1);
            let described = self.add_descriptor(&descriptor);
            self.marks.call_marks.push(CallMark { pc: 0, block: 0, begun, pending: done, made: done, descriptor: 0 });
            let earlier = happened.iter().cloned().chain(std::iter::once(pending..begun));
            self.marks.call_marks.extend(earlier.filter(|range| !range.is_empty()).map(|range| {
                let pending = range.start;
                CallMark { pc: 0, block: 0, begun: pending, pending, made: range.end, descriptor: described }
            }));
        }
        self.mark_spot(spot, &[], false);
    }
}
