//! Which flags are live where, and where a block's calls go.

use std::ops::Range;

use bubble::switches::{Off, Optimisation};
use isa::{Instruction, Kind, Usage};
use machine::{AppPc, flags};

use super::counting::adds_to_counter_register;
use crate::emit::emitter::{Check, Facts, Rules, ScratchBuffers, Shape, emptied};
use crate::liveness::may_be_seen;
use crate::trace::{AnalysisCall, Arg, Point, Trace};

/// What is known of a trace before its first byte is written.
pub(in crate::emit) fn facts<'a>(
    trace: &'a Trace,
    rules: &Rules<'_>,
    shape: &Shape<'_>,
    live_at: &mut dyn FnMut(AppPc) -> u64,
    spare: &mut ScratchBuffers,
) -> Facts<'a> {
    let mut usages = emptied(&mut spare.usages);
    usages.extend(trace.instructions.iter().map(Instruction::usage));
    let mut live_flags = emptied(&mut spare.live_flags);
    let seen = SeenFlags { exact_faults: rules.exact_faults, shape, by_tool: are_read(trace) };
    find_live_flags(trace, &usages, rules, seen, live_at, &mut live_flags);
    let placed = place(trace, &live_flags, rules);
    let counted = trace.counted.iter().map(|counted| cheapest(trace, counted.block, &live_flags, rules.off)).collect();
    Facts { trace, usages, live_flags, placed, counted }
}

/// For each instruction, the arithmetic flags that something may still read before it.
///
/// Nothing is known about what follows a block at first. Where that leaves no place for the block's calls at which all flags are
/// dead, it is looked up. Before an instruction that may fault flags are live only if the app can see them there: otherwise
/// the instruction is executed again, in the end, and so is the one that overwrites them.
fn find_live_flags(
    trace: &Trace,
    usages: &[Usage],
    rules: &Rules<'_>,
    seen: SeenFlags<'_>,
    live_at: &mut dyn FnMut(AppPc) -> u64,
    live: &mut Vec<u64>,
) {
    live.resize(usages.len(), 0);
    for block in (0..trace.block_ends.len()).rev() {
        let range = trace.block(block);
        scan(trace, usages, range.clone(), flags::ARITHMETIC, seen, live);
        let in_block = |call: &&AnalysisCall| match call.point {
            Point::Anywhere(other) => other == block,
            point => point.index().is_some_and(|index| range.contains(&index) && live[index] != 0),
        };
        let mut here = trace.calls.iter().filter(in_block);
        let looks = block == 0 && live[0] != 0 && may_drain(trace, rules.off);
        let counted = trace.counted.iter().any(|counted| counted.block == block);
        let wanted = looks || counted || here.any(|call| !adds_to_counter_register(call, rules.known, rules.counters));
        if wanted && range.clone().all(|i| live[i] != 0) {
            let after = live_after(trace, range.end, live, live_at);
            scan(trace, usages, range, after, seen, live);
        }
    }
}

/// Where flags are seen by others than the instructions.
#[derive(Clone, Copy)]
struct SeenFlags<'a> {
    /// At instructions that may fault.
    exact_faults: bool,
    /// Where a trace may be left in a block.
    shape: &'a Shape<'a>,
    /// By routines and words.
    by_tool: bool,
}

impl SeenFlags<'_> {
    /// The flags that are seen before an instruction of the block in `range`: at an end those that the app may read after it, as far as whoever arms it knows; behind a
    /// store that changes the block those that the new code may read.
    fn before(&self, trace: &Trace, range: &Range<usize>, index: usize) -> u64 {
        let is_end = |&(at, check): &(usize, &Check)| at == index && index > 0 && !check.may_change_flags;
        let rewritten =
            self.shape.rewritten.is_some() && index > range.start && trace.instructions[index - 1].writes_memory();
        if rewritten || self.shape.check.as_ref().is_some_and(is_end) { flags::ARITHMETIC } else { 0 }
    }
}

/// Whether anything of the tool's reads the app's flags.
fn are_read(trace: &Trace) -> bool {
    let words = || trace.buffered.iter().flat_map(|buffered| &buffered.words);
    trace.calls.iter().any(AnalysisCall::reads_flags) || words().any(|word| *word == Arg::Flags)
}

/// Whether something of the tool's reads the app's flags before an instruction.
fn are_read_before(trace: &Trace, index: usize) -> bool {
    let reads = |call: &AnalysisCall| {
        let is_here = match call.point {
            Point::Before(at) => at == index,
            Point::After(at) => at + 1 == index,
            Point::Taken(_) => false,
            // Wherever it is put.
            Point::Anywhere(block) => trace.block(block).contains(&index),
        };
        is_here && call.reads_flags()
    };
    let words =
        || trace.buffered.iter().filter(|buffered| buffered.index == index).flat_map(|buffered| &buffered.words);
    trace.calls.iter().any(reads) || words().any(|word| *word == Arg::Flags)
}

/// Fills in `live` for one block, after which the flags in `after` are live.
fn scan(trace: &Trace, usages: &[Usage], range: Range<usize>, after: u64, seen: SeenFlags<'_>, live: &mut [u64]) {
    let mut now = after;
    for i in range.clone().rev() {
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
        now = if !known || may_be_seen(usage, seen.exact_faults) {
            flags::ARITHMETIC
        } else {
            (now & !usage.flags_killed) | (usage.flags_read & flags::ARITHMETIC)
        };
        now |= seen.before(trace, &range, i);
        if seen.by_tool && are_read_before(trace, i) {
            now = flags::ARITHMETIC;
        }
        live[i] = now;
    }
}

/// The flags that are live after the block that ends before instruction `end`. `live` is known from there on.
fn live_after(trace: &Trace, end: usize, live: &[u64], live_at: &mut dyn FnMut(AppPc) -> u64) -> u64 {
    let last = &trace.instructions[end - 1];
    let next =
        |live_at: &mut dyn FnMut(AppPc) -> u64| live.get(end).copied().unwrap_or_else(|| live_at(last.next_pc()));
    match last.kind() {
        Kind::Plain | Kind::SegmentBase { .. } => next(live_at),
        Kind::Jump { target } | Kind::Call { target } => live_at(target),
        Kind::Branch { target, .. } | Kind::CountBranch { target } => {
            let taken = live_at(target);
            if taken == flags::ARITHMETIC { taken } else { taken | next(live_at) }
        }
        _ => flags::ARITHMETIC,
    }
}

/// For each block-level call, the instruction before which it is cheapest: the first one where all flags are dead, or the first
/// of all for one that doesn't change them, or that is told what is only so there.
fn place(trace: &Trace, live: &[u64], rules: &Rules<'_>) -> Vec<Option<usize>> {
    trace
        .calls
        .iter()
        .map(|call| match call.point {
            Point::Anywhere(block) if adds_to_counter_register(call, rules.known, rules.counters) => {
                Some(trace.block(block).start)
            }
            Point::Anywhere(block) if call.depends_on_place() => Some(trace.block(block).start),
            Point::Anywhere(block) => Some(cheapest(trace, block, live, rules.off)),
            _ => None,
        })
        .collect()
}

/// The first instruction of a block before which all flags are dead, if there is one, or its first.
fn cheapest(trace: &Trace, block: usize, live: &[u64], off: Off) -> usize {
    let mut range = trace.block(block);
    let first = range.start;
    off.leaves(Optimisation::Anywhere).then(|| range.find(|&i| live[i] == 0)).flatten().unwrap_or(first)
}

/// Whether the trace is one of those at whose heads the buffer is looked at. Whatever goes on for long
/// comes to a branch back or to an indirect one again and again.
pub(in crate::emit) fn may_drain(trace: &Trace, off: Off) -> bool {
    let leads_back = |i: &Instruction| match i.kind() {
        Kind::Branch { target, .. } | Kind::CountBranch { target } | Kind::Jump { target } => target <= i.pc(),
        Kind::Return { .. } | Kind::JumpIndirect => true,
        _ => false,
    };
    off.leaves(Optimisation::Drain) && !trace.buffered.is_empty() && trace.instructions.iter().any(leads_back)
}
