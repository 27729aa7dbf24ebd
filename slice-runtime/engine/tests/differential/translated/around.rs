//! Calls behind instructions, and where branches go.

use bubble::map;
use isa::Kind;
use machine::Gpr;
use translator::trace::{AnalysisCall, Arg, Point, Trace, has_after, may_branch};

use super::calls::{mix, mix_out_of_line};
use super::counters::count_in_parts;
use super::local::Local;

extern "C" fn count_around(l: &mut Local, which: u64, n: u64) {
    l.around[which as usize & 3] = l.around[which as usize & 3].wrapping_add(n);
}

/// The same, but not to be inlined.
extern "C" fn count_around_out_of_line(l: &mut Local, which: u64, n: u64) {
    for _ in 0..std::hint::black_box(1) {
        l.around[which as usize & 3] = l.around[which as usize & 3].wrapping_add(n);
    }
}

/// Calls behind instructions and taken branches, in place and out of line, of one step and of several.
pub fn insert_around(trace: &mut Trace) {
    let (instructions, calls) = (&trace.instructions, &mut trace.calls);
    for (n, instruction) in instructions.iter().enumerate() {
        let choice = instruction.pc().0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        let counts = [count_around as *const (), count_around_out_of_line as *const ()];
        let mut add = |point, routine, args| {
            calls.push(AnalysisCall::new(point, routine as usize, map::LOCAL.start, args));
        };
        let count = |which, n| vec![Arg::Const(which), n];
        let conditional = matches!(instruction.kind(), Kind::Branch { .. } | Kind::CountBranch { .. });
        let register = Arg::Register(Gpr::ALL[choice as usize % 16]);
        if has_after(instruction) {
            add(Point::After(n), counts[choice as usize & 1], count(1, Arg::Const(1)));
            if choice & 4 == 0 {
                for routine in [mix_out_of_line as *const (), mix as *const ()] {
                    add(Point::After(n), routine, vec![register, Arg::InstructionPointer, Arg::BranchTaken]);
                }
            }
            if choice & 8 == 0 {
                add(Point::After(n), count_in_parts as *const (), vec![]);
            }
        }
        if may_branch(instruction) {
            for routine in [mix as *const (), mix_out_of_line as *const ()] {
                add(Point::Taken(n), routine, vec![Arg::BranchTarget, register, Arg::BranchTaken]);
            }
            add(Point::Taken(n), counts[choice as usize >> 1 & 1], count(1, Arg::Const(1)));
            if conditional {
                add(Point::Taken(n), counts[choice as usize >> 2 & 1], count(3, Arg::BranchTaken));
                add(Point::Before(n), counts[choice as usize >> 3 & 1], count(2, Arg::BranchTaken));
            }
        }
        if has_after(instruction) || may_branch(instruction) {
            add(Point::Before(n), counts[choice as usize >> 4 & 1], count(0, Arg::BlockInstructions));
        }
    }
}

extern "C" fn count_executed(l: &mut Local, n: u64) {
    l.around[0] = l.around[0].wrapping_add(n);
}

extern "C" fn count_behind(l: &mut Local, n: u64) {
    l.around[1] = l.around[1].wrapping_add(n);
}

/// Of these only additions of constants to counters: they may be made in a register, or in shards.
pub fn insert_counters_behind(trace: &mut Trace) {
    insert_around(trace);
    let counts = [count_around as *const () as usize, count_around_out_of_line as *const () as usize];
    trace.calls.retain(|call| counts.contains(&call.routine) && call.args[1] != Arg::BranchTaken);
    for call in &mut trace.calls {
        let counter = if call.args.remove(0) == Arg::Const(0) { count_executed } else { count_behind };
        call.routine = counter as *const () as usize;
    }
}
