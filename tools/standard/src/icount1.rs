//! `icount1`: counts executed instructions by a call before each of them. An instruction that repeats (REP) counts once.
//!
//! Slower than [`crate::Icount2`], and simple enough to be the measure for it.

use superpin_tool::{Arg, At, NoOptions, Out, SliceInfo, Tool, Trace};

/// The tool.
pub struct Icount1;

fn count(instructions: &mut u64, one: u64) {
    // Wrapping: minus one takes back an instruction that a fault kept from taking effect.
    *instructions = instructions.wrapping_add(one);
}

impl Tool for Icount1 {
    const NAME: &'static str = "icount1";
    const ABOUT: &'static str = "Count executed instructions, at each instruction";
    type Options = NoOptions;
    type Local = u64;
    type Result = u64;
    type Total = u64;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, u64>) {
        for instruction in trace.instructions() {
            instruction.call(At::Before, count, (Arg::BlockInstructions,));
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
