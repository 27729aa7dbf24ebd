//! Routines that count, and instrumentation that puts them in.

use bubble::map;
use translator::trace::{AnalysisCall, Arg, Point, Trace};

use super::local::Local;

extern "C" fn count_instruction(l: &mut Local, n: u64) {
    l.by_instruction = l.by_instruction.wrapping_add(n);
}

/// The same, but not to be inlined.
extern "C" fn count_out_of_line(l: &mut Local, n: u64) {
    for _ in 0..std::hint::black_box(1) {
        l.by_instruction = l.by_instruction.wrapping_add(n);
    }
}

extern "C" fn count_call(l: &mut Local, n: u64) {
    l.by_call = l.by_call.wrapping_add(n);
}

/// The same, but not to be inlined.
extern "C" fn count_call_out_of_line(l: &mut Local, n: u64) {
    for _ in 0..std::hint::black_box(1) {
        l.by_call = l.by_call.wrapping_add(n);
    }
}

/// Changes two words whose sum stays the same.
pub extern "C" fn count_in_parts(l: &mut Local) {
    l.seen[4] = l.seen[4].wrapping_add(3);
    l.seen[5] = l.seen[5].wrapping_sub(3);
}

/// Counts in several steps.
extern "C" fn count_call_in_parts(l: &mut Local, n: u64) {
    l.by_call = l.by_call.wrapping_add(n);
    l.seen[4] = l.seen[4].wrapping_add(n);
    l.seen[5] = l.seen[5].wrapping_sub(n);
}

extern "C" fn count_block(l: &mut Local, n: u64) {
    l.by_block = l.by_block.wrapping_add(n);
}

/// Counts each instruction in one counter and each block in another; and each instruction again, in a way that nobody corrects.
pub fn insert_counters(trace: &mut Trace) {
    let call_with = |point, routine, arg| AnalysisCall::new(point, routine, map::LOCAL.start, vec![arg]);
    let call = |point, routine| call_with(point, routine, Arg::BlockInstructions);
    for n in 0..trace.instructions.len() {
        let inlined = !trace.instructions[n].pc().0.is_multiple_of(7);
        let routine = if inlined { count_instruction as *const () } else { count_out_of_line as *const () };
        trace.calls.push(call(Point::Before(n), routine as usize));
        let routine = match trace.instructions[n].pc().0 % 11 {
            0 => count_call_out_of_line as *const (),
            1..4 => count_call_in_parts as *const (),
            _ => count_call as *const (),
        };
        trace.calls.push(call_with(Point::Before(n), routine as usize, Arg::Const(1)));
    }
    for n in 0..trace.block_ends.len() {
        trace.calls.push(call(Point::Anywhere(n), count_block as *const () as usize));
    }
}

/// Counts in all three ways, but only some instructions, which the code alone chooses.
pub fn insert_some_counters(trace: &mut Trace) {
    for n in 0..trace.instructions.len() {
        if trace.instructions[n].pc().0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59 != 0 {
            continue;
        }
        let ways = [
            (count_instruction as *const (), Arg::BlockInstructions),
            (count_block as *const (), Arg::BlockInstructions),
            (count_call_out_of_line as *const (), Arg::Const(1)),
        ];
        for (routine, arg) in ways {
            trace.calls.push(AnalysisCall::new(Point::Before(n), routine as usize, map::LOCAL.start, vec![arg]));
        }
    }
}

/// Counts blocks only, in two counters.
pub fn insert_block_counters(trace: &mut Trace) {
    for n in 0..trace.block_ends.len() {
        for routine in [count_instruction as *const (), count_block as *const ()] {
            let args = vec![Arg::BlockInstructions];
            trace.calls.push(AnalysisCall::new(Point::Anywhere(n), routine as usize, map::LOCAL.start, args));
        }
    }
}

extern "C" fn count_step(l: &mut Local, n: u64) {
    l.steps = l.steps.wrapping_add(n);
}

/// The same, but not to be inlined.
extern "C" fn count_step_out_of_line(l: &mut Local, n: u64) {
    for _ in 0..std::hint::black_box(1) {
        count_step(l, n);
    }
}

/// Counts each instruction, and does nothing else: one addition for a block is enough.
pub fn insert_steps(trace: &mut Trace) {
    insert_each(trace, count_step as *const () as usize);
}

/// The same by calls, which can't be made one.
pub fn insert_steps_called(trace: &mut Trace) {
    insert_each(trace, count_step_out_of_line as *const () as usize);
}

fn insert_each(trace: &mut Trace, routine: usize) {
    let call = |n| AnalysisCall::new(Point::Before(n), routine, map::LOCAL.start, vec![Arg::BlockInstructions]);
    trace.calls.extend((0..trace.instructions.len()).map(call));
}
