//! Counts the instructions that a program executes. A place to start from: docs/tools.md of superpin tells what else a tool can ask for.
#![no_main]

use superpin_tool::{Arg, At, NoOptions, Out, SliceInfo, Tool, Trace};

superpin_tool::image!(NewTool);

struct NewTool;

/// Analysis: whenever the program has entered a block.
fn docount(icount: &mut u64, c: u64) {
    *icount = icount.wrapping_add(c);
}

impl Tool for NewTool {
    const NAME: &'static str = "new-tool";
    const ABOUT: &'static str = "Count instructions";
    type Options = NoOptions;
    type Local = u64; // what routines work on: each slice of the program's execution has its own
    type Result = u64; // what a slice hands in
    type Total = u64; // what the results add up to

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(NewTool)
    }

    /// Instrumentation: looks at each piece of code before it is executed the first time.
    fn instrument(&self, trace: &Trace<'_, u64>) {
        for block in trace.blocks() {
            block.call(At::Anywhere, docount, (Arg::BlockInstructions,));
        }
    }

    /// A slice begins, at nothing.
    fn begin(&self, _: SliceInfo) -> u64 {
        0
    }

    /// It ends.
    fn finish(&self, icount: &u64) -> u64 {
        *icount
    }

    /// Puts slices together, in the order of execution.
    fn fold(&self, total: &mut u64, _: SliceInfo, icount: u64) {
        *total += icount;
    }

    /// The program has ended.
    fn fini(&self, total: u64, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "Total Count: {}", out.total(total))
    }
}
