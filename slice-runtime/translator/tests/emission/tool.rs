//! What a tool inserts, by chance.

use bubble::map::LOCAL;
use isa::random::Rng;
use isa::{Kind, Segment};
use machine::Gpr;
use translator::trace::{AnalysisCall, Arg, Buffered, Form, Point, Test, Trace, has_after, may_branch};

use super::memory::Routines;

/// What a tool inserts, by chance.
pub struct Tool<'a> {
    pub routines: &'a Routines,
    /// Whether there are counters, other calls, and values for the buffer.
    pub kinds: (bool, bool, bool),
}

impl Tool<'_> {
    pub fn insert(&self, trace: &mut Trace, rng: &mut Rng) {
        let (counters, calls, words) = self.kinds;
        for n in 0..trace.instructions.len() {
            if counters && rng.once_in(2) {
                let args = if rng.once_in(2) { vec![Arg::BlockInstructions] } else { vec![Arg::Const(rng.below(9))] };
                let routine = self.routines.counters[rng.below(2) as usize];
                trace.calls.push(AnalysisCall::new(self.point(trace, n, rng), routine, LOCAL.start, args));
            }
            if calls && rng.once_in(3) {
                let call = self.call(trace, n, rng);
                trace.calls.push(call);
            }
            if words && rng.once_in(2) {
                let words = (0..=rng.below(3)).map(|_| word(trace, n, rng)).collect();
                trace.buffered.push(Buffered { index: n, words });
            }
        }
        if counters && rng.once_in(2) {
            for block in 0..trace.block_ends.len() {
                let routine = self.routines.counters[0];
                let args = vec![Arg::BlockInstructions];
                trace.calls.push(AnalysisCall::new(Point::Anywhere(block), routine, LOCAL.start, args));
            }
        }
    }

    pub fn point(&self, trace: &Trace, n: usize, rng: &mut Rng) -> Point {
        let instruction = &trace.instructions[n];
        match rng.below(4) {
            0 if has_after(instruction) => Point::After(n),
            1 if may_branch(instruction) => Point::Taken(n),
            _ => Point::Before(n),
        }
    }

    pub fn call(&self, trace: &Trace, n: usize, rng: &mut Rng) -> AnalysisCall {
        let point = self.point(trace, n, rng);
        let count = if rng.once_in(8) { rng.below(13) } else { 2 };
        let args = (0..count).map(|_| argument(trace, point, rng)).collect();
        let call = AnalysisCall::new(point, rng.pick(&self.routines.others), LOCAL.start, args);
        let form = if rng.once_in(8) { rng.pick(&Form::ALL) } else { Form::Words };
        let call = AnalysisCall { form, ..call };
        if point != Point::Before(n) {
            return call;
        }
        match rng.below(4) {
            0 => AnalysisCall { predicated: true, ..call },
            1 => AnalysisCall {
                test: Some(Test {
                    routine: rng.pick(&self.routines.tests),
                    args: vec![argument(trace, point, rng), argument(trace, point, rng)],
                }),
                ..call
            },
            _ => call,
        }
    }
}

/// An argument that can be had at the point.
pub fn argument(trace: &Trace, point: Point, rng: &mut Rng) -> Arg {
    let instruction = &trace.instructions[point.index().expect("a point at an instruction")];
    let operand = instruction.memory_operands().iter().position(|m| !m.inexact);
    let branches = matches!(instruction.kind(), Kind::Branch { .. } | Kind::CountBranch { .. });
    if rng.once_in(16) {
        return of_the_whole_state(rng);
    }
    if rng.once_in(16) {
        return Arg::KeptAt(rng.below(16) as u8);
    }
    match (rng.below(6), operand) {
        (0, _) => Arg::Const(rng.value()),
        (1, _) => Arg::InstructionPointer,
        (2 | 3, Some(operand)) if !matches!(point, Point::After(_) | Point::Taken(_)) => Arg::MemoryAddress(operand),
        (4, _) if branches && !matches!(point, Point::After(_)) => Arg::BranchTaken,
        (5, _) if matches!(point, Point::Taken(_)) => Arg::BranchTarget,
        _ => Arg::Register(Gpr::ALL[rng.below(16) as usize]),
    }
}

/// An argument that only the runtime computes.
fn of_the_whole_state(rng: &mut Rng) -> Arg {
    match rng.below(4) {
        0 => Arg::Flags,
        1 => Arg::SegmentBase(Segment::Gs),
        2 => Arg::Vector { register: rng.below(32) as u8, word: rng.below(8) as u8 },
        _ => Arg::Mask(rng.below(8) as u8),
    }
}

/// A value for the buffer: what a count branch will do isn't known before it.
pub fn word(trace: &Trace, n: usize, rng: &mut Rng) -> Arg {
    match argument(trace, Point::Before(n), rng) {
        Arg::BranchTaken if !matches!(trace.instructions[n].kind(), Kind::Branch { .. }) => Arg::InstructionPointer,
        word => word,
    }
}
