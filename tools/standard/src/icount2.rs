//! `icount2`: counts executed instructions by one addition for each basic block. An instruction that repeats (REP)
//! counts once. Prints what [`crate::Icount1`] prints.

use superpin_tool::{Arg, At, NoOptions, Out, SliceInfo, Tool, Trace};

/// The tool.
pub struct Icount2;

fn add(instructions: &mut u64, block: u64) {
    // Wrapping: where a signal ends a block early the engine takes the rest back by adding a negative number.
    *instructions = instructions.wrapping_add(block);
}

impl Tool for Icount2 {
    const NAME: &'static str = "icount2";
    const ABOUT: &'static str = "Count executed instructions, at each basic block";
    type Options = NoOptions;
    type Local = u64;
    type Result = u64;
    type Total = u64;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, u64>) {
        for block in trace.blocks() {
            block.call(At::Anywhere, add, (Arg::BlockInstructions,));
        }
    }

    fn begin(&self, _: SliceInfo) -> u64 {
        0
    }

    fn finish(&self, instructions: &u64) -> u64 {
        *instructions
    }

    fn fold(&self, total: &mut u64, _: SliceInfo, instructions: u64) {
        *total += instructions;
    }

    fn fini(&self, total: u64, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "Total Count: {total}")
    }
}
