//! A tool that has some blocks counted, drawn from a seed and their addresses. Beside another one, which has others counted, it sees what it sees alone.

use superpin_tool::merge::Merge;
use superpin_tool::{BlockCounts, Code, Out, SliceInfo, Tool, Trace, clap};

use super::hash;

/// The tool.
pub struct Counting {
    seed: u64,
}

#[derive(clap::Args)]
pub struct Options {
    /// What it is drawn from
    #[arg(long, default_value = "1")]
    seed: u64,
}

impl Tool for Counting {
    const NAME: &'static str = "counting";
    const ABOUT: &'static str = "Count executions of some blocks";
    type Options = Options;
    type Local = BlockCounts;
    type Result = Code;
    type Total = Code;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { seed: options.seed })
    }

    fn instrument(&self, trace: &Trace<'_, BlockCounts>) {
        // By its end: a slice, or a handler that returns, may begin inside.
        let is_drawn = |end: u64| hash(self.seed, end).is_multiple_of(2);
        trace.blocks().filter(|block| is_drawn(block.end_address().0)).for_each(|block| block.count());
    }

    fn begin(&self, _: SliceInfo) -> BlockCounts {
        BlockCounts::new()
    }

    fn finish(&self, blocks: &BlockCounts) -> Code {
        blocks.executed()
    }

    fn fold(&self, total: &mut Code, _: SliceInfo, result: Code) {
        total.merge(result);
    }

    fn fini(&self, total: Code, out: &mut Out<'_>) -> std::io::Result<()> {
        total.instructions().try_for_each(|i| writeln!(out, "{:#x} - - {}", i.address().0, i.executions()))
    }
}
