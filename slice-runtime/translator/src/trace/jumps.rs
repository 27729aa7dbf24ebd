//! Instructions that a tool has replaced by jumps.

use super::call::Point;
use super::trace::Trace;

/// Ends the trace at the first instruction that is replaced by a jump, and makes it that jump. What was inserted behind it goes; its own calls before it stay.
pub fn jump_instead(trace: &mut Trace) {
    let Some(&(at, target)) = trace.jumps.iter().min_by_key(|(index, _)| *index) else { return };
    trace.instructions[at] = trace.instructions[at].replaced_by_jump(target);
    trace.instructions.truncate(at + 1);
    trace.block_ends.retain(|end| *end <= at);
    trace.block_ends.push(at + 1);
    let blocks = trace.block_ends.len();
    trace.calls.retain(|call| match call.point {
        Point::Before(index) => index <= at,
        Point::Anywhere(block) => block < blocks,
        Point::After(index) | Point::Taken(index) => index < at,
    });
    trace.buffered.retain(|buffered| buffered.index <= at);
    trace.counted.retain(|counted| counted.block < blocks);
}

#[cfg(test)]
mod tests {
    use isa::Kind;
    use machine::AppPc;

    use super::*;
    use crate::trace::{AnalysisCall, Border, Counted, Limits, select};

    #[test]
    fn a_trace_ends_where_it_jumps() {
        let limits =
            Limits { blocks: 3, instructions: 9, single: false, stop_after_write: false, each_repetition: false };
        // nop; je; nop; add %rax, %rax; nop; ret
        let code = [0x90, 0x74, 0, 0x90, 0x48, 0x01, 0xc0, 0x90, 0xc3];
        let mut trace = select(AppPc(0x1000), &code, limits, |_| Border::None, Vec::new()).unwrap().trace;
        let call = |point| AnalysisCall::new(point, 7, 8, Vec::new());
        let points = [Point::Anywhere(1), Point::Before(3), Point::After(3), Point::Before(4), Point::After(0)];
        trace.calls = points.map(call).to_vec();
        trace.counted = [0, 1, 2].map(|block| Counted { block, tools: 1 }).to_vec();
        trace.jumps = vec![(4, AppPc(0x9000)), (3, AppPc(0x1007))];
        jump_instead(&mut trace);
        let last = trace.instructions.last().unwrap();
        assert_eq!((last.kind(), last.next_pc()), (Kind::Jump { target: AppPc(0x1007) }, AppPc(0x1007)));
        // What it reads and writes is a jump's, what it says of itself the instruction's own.
        assert_eq!((last.usage(), last.mnemonic()), (isa::Usage::default(), "add"));
        assert_eq!((trace.instructions.len(), &trace.block_ends), (4, &vec![2, 4]));
        let left: Vec<_> = trace.calls.iter().map(|call| call.point).collect();
        assert_eq!(left, [Point::Anywhere(1), Point::Before(3), Point::After(0)]);
        assert!(trace.counted.iter().map(|counted| counted.block).eq([0, 1]));
    }
}
