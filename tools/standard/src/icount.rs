//! `icount1` and `icount2`: count executed instructions, by a call before each of them or by one for each basic block.
//! Both print the same. An instruction that repeats (REP) counts once, or, with `--repeat each`, as often as it does.
//!
//! The first is the slower one, and simple enough to be the measure for the second.

use std::marker::PhantomData;

use superpin_tool::json::{Value, json};
use superpin_tool::{Arg, At, Out, Repeat, SliceInfo, ThreadInfo, Threads, Tool, Trace, clap};

use crate::repeat::RepeatOption;
use crate::threads::{self, ByThread, ThreadsOption};

/// Counts each instruction.
pub type Icount1 = Icount<EachInstruction>;
/// Counts by basic blocks.
pub type Icount2 = Icount<EachBlock>;

/// Options.
#[derive(clap::Args, Clone, Copy)]
#[command(after_help = "Examples: superpin -sp 1 -t icount2 -- ls
  superpin -sp 1 -t icount2 --threads 1 -- xz -T2 -kf file
icount1 counts the same at each instruction, a check of the other: superpin -sp 1 -t icount1 -- ls")]
pub struct Options {
    #[command(flatten)]
    repeat: RepeatOption,
    #[command(flatten)]
    threads: ThreadsOption,
}

/// Instructions of all threads, and of each, where that is asked for.
#[derive(Default)]
pub struct Counted {
    all: u64,
    threads: ByThread,
}

/// A counter of instructions whose calls are made where `P` says.
pub struct Icount<P> {
    options: Options,
    placement: PhantomData<P>,
}

/// Where instructions are counted.
pub trait Placement: 'static {
    /// Name of the tool.
    const NAME: &'static str;
    /// What it does, in a line.
    const ABOUT: &'static str;
    /// Puts the calls into a trace.
    fn instrument(trace: &Trace<'_, u64>);
}

/// See [`Icount1`].
pub struct EachInstruction;

/// See [`Icount2`].
pub struct EachBlock;

impl Placement for EachInstruction {
    const NAME: &'static str = "icount1";
    const ABOUT: &'static str = "Count executed instructions, at each instruction";

    fn instrument(trace: &Trace<'_, u64>) {
        for instruction in trace.instructions() {
            instruction.call(At::Before, add, (Arg::BlockInstructions,));
        }
    }
}

impl Placement for EachBlock {
    const NAME: &'static str = "icount2";
    const ABOUT: &'static str = "Count executed instructions, at each basic block";

    fn instrument(trace: &Trace<'_, u64>) {
        for block in trace.blocks() {
            block.call(At::Anywhere, add, (Arg::BlockInstructions,));
        }
    }
}

fn add(instructions: &mut u64, more: u64) {
    // Wrapping: what a fault or a signal kept from being executed is taken back by adding a negative number.
    *instructions = instructions.wrapping_add(more);
}

impl<P: Placement> Tool for Icount<P> {
    const NAME: &'static str = P::NAME;
    const ABOUT: &'static str = P::ABOUT;
    type Options = Options;
    type Local = u64;
    type Result = u64;
    type Total = Counted;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options, placement: PhantomData })
    }

    fn repeat(&self) -> Repeat {
        self.options.repeat.repeat
    }

    fn threads(&self) -> Threads {
        self.options.threads.threads()
    }

    fn instrument(&self, trace: &Trace<'_, u64>) {
        P::instrument(trace);
    }

    fn begin(&self, _: SliceInfo) -> u64 {
        0
    }

    fn finish(&self, instructions: &u64) -> u64 {
        *instructions
    }

    fn fold(&self, total: &mut Counted, _: SliceInfo, instructions: u64) {
        total.all += instructions;
    }

    fn fold_thread(&self, total: &mut Counted, slice: SliceInfo, thread: &ThreadInfo, instructions: u64) {
        *total.threads.entry(thread.path.clone()).or_default() += instructions;
        self.fold(total, slice, instructions);
    }

    fn fini(&self, total: Counted, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "Total Count: {}", out.total(total.all))?;
        threads::print(&total.threads, out)?;
        self.options.repeat.say(out)
    }

    fn values(&self, total: &Counted) -> Option<Value> {
        let mut values = json!({ "instructions": total.all, "repetitions": self.repeat().to_string() });
        let each = total.threads.iter().map(|(path, count)| (path.clone(), json!({ "instructions": count })));
        threads::add_to(&mut values, self.options.threads, each);
        Some(values)
    }
}
