//! Tools that are some hundred times as slow as most: one says so.

use superpin_tool::{At, NoOptions, Out, SliceInfo, Tool, Trace};

/// A tool that counts blocks, slowly.
pub struct Slow<const PATIENCE: u32>;

fn count(blocks: &mut u64) {
    *blocks += 1;
    for n in 0..100_000 {
        std::hint::black_box(n);
    }
}

impl<const PATIENCE: u32> Tool for Slow<PATIENCE> {
    const NAME: &'static str = if PATIENCE == 1 { "slow" } else { "patient" };
    const ABOUT: &'static str = "Count blocks, slowly";
    const PATIENCE: u32 = PATIENCE;
    type Options = NoOptions;
    type Local = u64;
    type Result = u64;
    type Total = u64;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, u64>) {
        for block in trace.blocks() {
            block.call(At::Before, count, ());
        }
    }

    fn begin(&self, _: SliceInfo) -> u64 {
        0
    }

    fn finish(&self, blocks: &u64) -> u64 {
        *blocks
    }

    fn fold(&self, total: &mut u64, _: SliceInfo, blocks: u64) {
        *total += blocks;
    }

    fn fini(&self, total: u64, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "blocks: {total}")
    }
}
