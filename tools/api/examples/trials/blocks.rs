//! How often each block was entered, by its addresses.

use std::collections::BTreeMap;

use superpin_tool::{At, NoOptions, Out, SliceInfo, Tool, Trace};

/// Executions of blocks, by the addresses of the first instruction and behind the last.
type Counts = BTreeMap<(u64, u64), u64>;

/// The tool.
pub struct Blocks;

fn enter(counts: &mut Counts, begin: u64, end: u64) {
    *counts.entry((begin, end)).or_default() += 1;
}

impl Tool for Blocks {
    const NAME: &'static str = "blocks";
    const ABOUT: &'static str = "Count executions of blocks";
    type Options = NoOptions;
    type Local = Counts;
    type Result = Vec<((u64, u64), u64)>;
    type Total = Counts;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Counts>) {
        for block in trace.blocks() {
            block.call(At::Before, enter, (block.address(), block.end_address()));
        }
    }

    fn begin(&self, _: SliceInfo) -> Counts {
        Counts::default()
    }

    fn finish(&self, local: &Counts) -> Self::Result {
        local.iter().map(|(block, count)| (*block, *count)).collect()
    }

    fn fold(&self, total: &mut Counts, _: SliceInfo, result: Self::Result) {
        for (block, count) in result {
            *total.entry(block).or_default() += count;
        }
    }

    fn fini(&self, total: Counts, out: &mut Out<'_>) -> std::io::Result<()> {
        total.iter().try_for_each(|((begin, end), count)| writeln!(out, "{begin:x} {end:x} {count}"))
    }
}
