//! Blocks that the engine counts, against calls for each instruction.

use bubble::map;
use isa::Reader;
use machine::AppPc;
use translator::trace::{AnalysisCall, Arg, Counted, Point, Trace};

use super::local::{Local, counters};

/// A number for each address: sums of these tell instructions apart.
fn weight(pc: AppPc) -> u64 {
    pc.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

extern "C" fn weigh(l: &mut Local, n: u64, weight: u64) {
    l.weight = l.weight.wrapping_add(n.wrapping_mul(weight));
}

/// Has all blocks counted, and each instruction weighed.
pub fn insert_counted(trace: &mut Trace) {
    insert_only_counted(trace);
    for (n, instruction) in trace.instructions.iter().enumerate() {
        let args = vec![Arg::BlockInstructions, Arg::Const(weight(instruction.pc()))];
        trace.calls.push(AnalysisCall::new(Point::Before(n), weigh as *const () as usize, map::LOCAL.start, args));
    }
}

/// Has all blocks counted.
pub fn insert_only_counted(trace: &mut Trace) {
    trace.counted = (0..trace.block_ends.len()).map(|block| Counted { block, tools: 1 }).collect();
}

/// What was weighed so far, and what that should be by what the engine has counted.
#[derive(Clone, Copy)]
pub struct Weights {
    weighed: u64,
    counted: u64,
}

impl Weights {
    pub fn now() -> Self {
        let mut counted: u64 = 0;
        engine::block_counts::visit(|address, code, executions| {
            let mut reader = Reader::new(code, AppPc(address));
            while let Ok(instruction) = reader.read() {
                counted = counted.wrapping_add(executions.wrapping_mul(weight(instruction.pc())));
            }
        });
        Self { weighed: counters().weight, counted }
    }

    /// Each instruction was counted as often as it was executed.
    pub fn check_since(self, before: Self) {
        let weighed = self.weighed.wrapping_sub(before.weighed);
        if weighed != 0 {
            assert_eq!(self.counted.wrapping_sub(before.counted), weighed, "executions by block and by instruction");
        }
    }
}
