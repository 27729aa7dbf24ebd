//! What is left to be done of an instruction, or of a block, that was begun before.

use std::ops::Range;

use super::call::{Arg, Form, Point};
use super::trace::Trace;

/// Leaves out what was done in a trace whose only instruction was begun before: the first `made` of its calls before it, except those that were compensated
/// when the trace was left, and the calls for whole blocks. Its words are `written`, in their order: the registers may already be others.
///
/// # Panics
/// If there are fewer words in `written` than the trace has.
pub fn leave_out(trace: &mut Trace, mut made: usize, written: &[u64]) {
    trace.calls.retain(|call| {
        if call.is_compensated() || call.asks {
            return true;
        }
        if call.form == Form::App {
            // It was asked before anything was begun.
            return false;
        }
        match call.point {
            Point::Before(_) => {
                let left = made == 0;
                made = made.saturating_sub(1);
                left
            }
            // It stands for what was before, too.
            Point::Anywhere(_) => false,
            Point::After(_) | Point::Taken(_) => true,
        }
    });
    let words = trace.buffered.iter_mut().flat_map(|buffered| &mut buffered.words);
    for (n, word) in words.enumerate() {
        *word = Arg::Const(written[n]);
    }
}

/// Leaves a part of a trace of one block: the instructions in `part`, with their calls and words. Calls for the whole block that count instructions
/// stand for those that are left; the others have been made.
pub fn leave_part(trace: &mut Trace, part: Range<usize>) {
    let first = trace.head().0;
    trace.instructions.truncate(part.end);
    trace.instructions.drain(..part.start);
    trace.block_ends = vec![trace.instructions.len()];
    trace.calls.retain_mut(|call| {
        let counts = call.is_compensated();
        match &mut call.point {
            Point::Anywhere(_) => {
                let pcs = call.args.iter_mut().filter(|arg| **arg == Arg::InstructionPointer);
                pcs.for_each(|arg| *arg = Arg::Const(first));
                counts
            }
            Point::Before(index) | Point::After(index) | Point::Taken(index) => {
                let left = part.contains(index);
                *index = index.saturating_sub(part.start);
                left
            }
        }
    });
    trace.buffered.retain_mut(|buffered| {
        let left = part.contains(&buffered.index);
        buffered.index = buffered.index.saturating_sub(part.start);
        left
    });
}

#[cfg(test)]
mod tests {
    use machine::AppPc;

    use super::*;
    use crate::trace::{AnalysisCall, Border, Buffered, Limits, select};

    #[test]
    fn the_rest_of_a_block_has_the_calls_of_the_rest() {
        let limits =
            Limits { blocks: 1, instructions: 9, single: false, stop_after_write: false, each_repetition: false };
        let code = [0x90, 0x90, 0x90, 0xc3];
        let mut trace = select(AppPc(0x1000), &code, limits, |_| Border::None, Vec::new()).unwrap().trace;
        let call = |point, args: &[Arg]| AnalysisCall::new(point, 7, 8, args.to_vec());
        trace.calls = vec![
            call(Point::Anywhere(0), &[Arg::InstructionPointer]),
            call(Point::Anywhere(0), &[Arg::InstructionPointer, Arg::BlockInstructions]),
            call(Point::Before(1), &[]),
            call(Point::Before(2), &[Arg::InstructionPointer]),
            call(Point::After(1), &[]),
            call(Point::Taken(3), &[]),
        ];
        trace.buffered = [1, 2].map(|index| Buffered { index, words: vec![Arg::Const(index as u64)] }).to_vec();
        leave_part(&mut trace, 2..4);
        assert_eq!((trace.head().0, trace.instructions.len(), &trace.block_ends), (0x1002, 2, &vec![2]));
        let left: Vec<_> = trace.calls.iter().map(|call| (call.point, call.args.clone())).collect();
        let expected = [
            (Point::Anywhere(0), vec![Arg::Const(0x1000), Arg::BlockInstructions]),
            (Point::Before(0), vec![Arg::InstructionPointer]),
            (Point::Taken(1), vec![]),
        ];
        assert_eq!(left, expected);
        assert_eq!(trace.buffered.len(), 1);
        assert_eq!((trace.buffered[0].index, &trace.buffered[0].words), (0, &vec![Arg::Const(2)]));
    }
}
