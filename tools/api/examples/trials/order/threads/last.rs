//! A tool that is wrong: it says that the order between threads doesn't matter, and it does.

use superpin_tool::merge::{Last, Merge};
use superpin_tool::{Arg, At, NoOptions, Out, SliceInfo, Threads, Tool, Trace};

/// The tool.
pub struct LastBlock;

impl Tool for LastBlock {
    const NAME: &'static str = "last-block";
    const ABOUT: &'static str = "Tell the block that was executed last";
    type Options = NoOptions;
    type Local = Last<u64>;
    type Result = Last<u64>;
    type Total = Last<u64>;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn threads(&self) -> Threads {
        Threads::AnyOrder
    }

    fn instrument(&self, trace: &Trace<'_, Last<u64>>) {
        for block in trace.blocks() {
            block.call(At::Before, |last: &mut Last<u64>, pc: u64| last.0 = Some(pc), (Arg::Pc,));
        }
    }

    fn begin(&self, _: SliceInfo) -> Last<u64> {
        Last::default()
    }

    fn finish(&self, last: &Last<u64>) -> Last<u64> {
        *last
    }

    fn fold(&self, total: &mut Last<u64>, _: SliceInfo, last: Last<u64>) {
        total.merge(last);
    }

    fn fini(&self, last: Last<u64>, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "a total: {:x}", last.0.unwrap_or_default())
    }
}
