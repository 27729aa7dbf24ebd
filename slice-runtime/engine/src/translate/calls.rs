//! Analysis calls: where block-level calls go, and how calls are made.

use std::ops::Range;

use bubble::switches::{Off, Optimisation};
use isa::{Kind, Usage};
use machine::{AppPc, flags};

use super::inline::InPlace;
use super::{Rules, Translator};
use crate::ahead::may_be_seen;
use crate::descriptor::Descriptor;
use crate::instrument::{Call, Point, Trace};
use crate::statemap::{BlockCall, CallMark, as_bytes};
use crate::tables::ExitKind;

/// For each instruction, the arithmetic flags that something may still read before it (P30).
///
/// Nothing is known about what follows a block at first. Where that leaves no place for the block's calls at which all flags are
/// dead, it is looked up. Before an instruction that may fault flags are live only if the app can see them there: otherwise
/// the instruction is executed again, in the end, and so is the one that overwrites them.
pub fn live_flags(trace: &Trace, usages: &[Usage], rules: &mut Rules<'_>) -> Vec<u64> {
    let mut live = vec![0; usages.len()];
    for block in (0..trace.block_ends.len()).rev() {
        let range = trace.block(block);
        scan(trace, usages, range.clone(), flags::ARITHMETIC, rules.exact_faults, &mut live);
        let in_block = |call: &Call| match call.point {
            Point::Anywhere(other) => other == block,
            Point::Before(index) => range.contains(&index) && live[index] != 0,
        };
        if range.clone().all(|i| live[i] != 0) && trace.calls.iter().any(in_block) {
            let after = live_after(trace, range.end, &live, rules);
            scan(trace, usages, range, after, rules.exact_faults, &mut live);
        }
    }
    live
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

/// For each block-level call, the instruction before which it is cheapest: the first one where all flags are dead (P31).
pub fn place(trace: &Trace, live: &[u64], off: Off) -> Vec<Option<usize>> {
    let at = |block: usize| {
        let range = trace.block(block);
        let cheapest = || range.clone().find(|&i| live[i] == 0);
        off.leaves(Optimisation::Anywhere).then(cheapest).flatten().unwrap_or(range.start)
    };
    trace
        .calls
        .iter()
        .map(|call| match call.point {
            Point::Anywhere(block) => Some(at(block)),
            Point::Before(_) => None,
        })
        .collect()
}

impl Translator<'_> {
    /// The calls that are made before instruction `index` of block `block`.
    pub(super) fn calls_before(&mut self, index: usize, block: usize) {
        for n in 0..self.trace.calls.len() {
            let call = &self.trace.calls[n];
            let here = match call.point {
                Point::Before(at) => at == index,
                Point::Anywhere(_) => self.placed[n] == Some(index),
            };
            if here {
                self.call(call, index, block);
            }
        }
    }

    fn call(&mut self, call: &Call, index: usize, block: usize) {
        if let Some(test) = call.of_test() {
            return self.tested_call(&test, call, index);
        }
        // The instructions that the call stands for.
        let range = match call.point {
            Point::Before(_) => index..index + 1,
            Point::Anywhere(_) => self.trace.block(block),
        };
        let instruction = &self.trace.instructions[index];
        let descriptor = Descriptor::new(call, instruction, range.len());
        let begun = self.offset();
        let in_place = self.inline_call(call, index, block, range.len()).unwrap_or_else(|| {
            self.call_out_of_line(descriptor, instruction.pc());
            InPlace { done: self.offset(), in_parts: false }
        });
        let done = in_place.done;
        let counts = !call.is_corrected() && matches!(call.point, Point::Before(_));
        if in_place.in_parts || counts {
            let pc = if counts { instruction.pc().0 } else { 0 };
            let begun = if in_place.in_parts { begun } else { done };
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
        self.descriptors.push(descriptor);
        at as u32
    }
}
