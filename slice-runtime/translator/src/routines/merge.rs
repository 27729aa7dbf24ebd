//! Merging the updates of one counter.
//!
//! A tool that adds to a counter before each instruction makes the processor wait for the same memory word again and again. If
//! nothing else looks at the tool's state within the block, no observer can tell one addition for the whole block from one for
//! each instruction: should the block not run to its end, [`Arg::BlockInstructions`] is compensated in both cases.

use super::known::RoutineFacts;
use crate::trace::{AnalysisCall, Arg, Form, Point, Trace};

/// Makes one block-level call of the calls before each instruction of a block, where that is the same.
pub fn merge_counters(trace: &mut Trace, known: &RoutineFacts) {
    if !trace.calls.iter().any(is_step) {
        return;
    }
    for block in 0..trace.block_ends.len() {
        let range = trace.block(block);
        let inside = |call: &AnalysisCall| match call.point {
            Point::Anywhere(other) => other == block,
            point => point.index().is_some_and(|index| range.contains(&index)),
        };
        let calls: Vec<&AnalysisCall> = trace.calls.iter().filter(|call| inside(call)).collect();
        let Some(first) = calls.first().copied() else { continue };
        let same = |call: &&AnalysisCall| is_step(call) && (call.routine, call.local) == (first.routine, first.local);
        // As many calls as instructions, all alike: one each unless one has two, which the sum doesn't show.
        let each = range.clone().all(|index| calls.iter().filter(|c| c.point == Point::Before(index)).count() == 1);
        if calls.len() == range.len() && calls.iter().all(same) && each && is_counter(first, known) {
            let merged = AnalysisCall { point: Point::Anywhere(block), ..first.clone() };
            let place = trace.calls.iter().position(inside).expect("the block has calls");
            trace.calls.retain(|call| !inside(call));
            trace.calls.insert(place.min(trace.calls.len()), merged);
        }
    }
}

/// A call that stands for one instruction and says so.
fn is_step(call: &AnalysisCall) -> bool {
    matches!(call.point, Point::Before(_))
        && !call.predicated
        && call.test.is_none()
        && call.form == Form::Words
        && call.args == [Arg::BlockInstructions]
}

/// Whether the routine does nothing but add its argument to a word of the local state.
fn is_counter(call: &AnalysisCall, known: &RoutineFacts) -> bool {
    match (known.added_by(call, 1), known.added_by(call, 3)) {
        (Some((a, 1)), Some((b, 3))) => a == b,
        _ => false,
    }
}
