//! How often each instruction was executed, counted by the engine for blocks and by a call for each.

use std::collections::BTreeMap;

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{Arg, At, BlockCounts, Code, CountsBlocks, NoOptions, Out, SliceInfo, Tool, Trace};

const SUMS: usize = 1 << 16;

/// What a slice has executed.
pub struct Local {
    blocks: BlockCounts,
    /// Executions of instructions by a hash of their addresses.
    sums: [u64; SUMS],
}

impl CountsBlocks for Local {
    fn block_counts(&self) -> &BlockCounts {
        &self.blocks
    }
}

/// The tool.
pub struct Executed;

fn hash(address: u64) -> u64 {
    address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48
}

fn execute(local: &mut Local, hash: u64, instructions: u64) {
    let sum = &mut local.sums[hash as usize % SUMS];
    *sum = sum.wrapping_add(instructions);
}

impl Tool for Executed {
    const NAME: &'static str = "executed";
    const ABOUT: &'static str = "Count executions of instructions in two ways";
    type Options = NoOptions;
    type Local = Local;
    type Result = (Code, BTreeMap<u64, Sum>);
    type Total = (Code, BTreeMap<u64, Sum>);

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        trace.count_blocks();
        for instruction in trace.instructions() {
            instruction.call(At::Before, execute, (hash(instruction.address().0), Arg::BlockInstructions));
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local { blocks: BlockCounts::new(), sums: [0; SUMS] }
    }

    fn finish(&self, local: &Local) -> Self::Result {
        let sums = (0..).zip(local.sums).filter(|(_, sum)| *sum != 0).map(|(hash, sum)| (hash, Sum(sum)));
        (local.blocks.executed(), sums.collect())
    }

    fn fold(&self, total: &mut Self::Total, _: SliceInfo, result: Self::Result) {
        total.merge(result);
    }

    fn fini(&self, (code, called): Self::Total, out: &mut Out<'_>) -> std::io::Result<()> {
        let counted = code.by(|instruction| hash(instruction.address().0));
        let called: BTreeMap<u64, u64> = called.into_iter().map(|(hash, sum)| (hash, sum.0)).collect();
        writeln!(out, "Total Count: {}\nas called: {}", code.total(), counted == called)?;
        for block in code.blocks() {
            writeln!(out, "{:x} {:x} {}", block.address().0, block.end_address().0, block.executions())?;
        }
        for instruction in code.instructions() {
            writeln!(out, "{:x} {instruction} {}", instruction.address().0, instruction.executions())?;
        }
        Ok(())
    }
}
