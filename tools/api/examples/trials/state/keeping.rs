//! Values that are kept within a block: what was known at its begin, and before an instruction, is what routines get later.

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{Arg, At, NoOptions, Out, SliceInfo, Tool, Trace};

/// Uses of what was kept at a block's begin, those that were told another value; the same of addresses before instructions, by calls and by the buffer.
type Sums = [Sum; 6];

/// What a slice has.
#[derive(Default)]
pub struct Local {
    blocks: u64,
    block: u64,
    address: u64,
    /// Sum of what was kept, as calls were told it, and as the buffer has it.
    called: u64,
    buffered: u64,
    sums: Sums,
}

/// The tool.
pub struct Keeping;

fn begins(local: &mut Local, stack_pointer: u64) -> u64 {
    local.blocks += 1;
    local.block = local.blocks ^ stack_pointer;
    local.block
}

fn ends(local: &mut Local, kept: u64) {
    local.sums[0].0 += 1;
    local.sums[1].0 += u64::from(kept != local.block);
}

fn ends_long(local: &mut Local, kept: u64) {
    local.called = local.called.wrapping_add(kept);
}

fn before(local: &mut Local, address: u64) {
    local.address = address;
}

fn behind(local: &mut Local, kept: u64, doubled: u64) {
    local.sums[2].0 += 1;
    local.sums[3].0 += u64::from(kept != local.address || doubled != local.address.wrapping_mul(2));
}

fn double(_: &mut Local, value: u64) -> u64 {
    value.wrapping_mul(2)
}

impl Tool for Keeping {
    const NAME: &'static str = "keeping";
    const ABOUT: &'static str = "Check values that are kept within a block";
    type Options = NoOptions;
    type Local = Local;
    type Result = Sums;
    type Total = Sums;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        for block in trace.blocks() {
            let (of_block, address, doubled) = (block.tool_register(), block.tool_register(), block.tool_register());
            block.first().call_into(At::Before, of_block, begins, (superpin_tool::Gpr::Rsp,));
            for instruction in block.instructions() {
                if !instruction.memory_operands().is_empty() && instruction.has_after() {
                    instruction.keep(At::Before, address, Arg::MemoryAddress(0));
                    instruction.call_into(At::Before, doubled, double, (address,));
                    instruction.call(At::Before, before, (Arg::MemoryAddress(0),));
                    instruction.call(At::After, behind, (address, doubled));
                }
            }
            if block.len() > 1 {
                block.last().buffer((of_block,));
                block.last().call(At::Before, ends_long, (of_block,));
            }
            block.last().call(At::Before, ends, (of_block,));
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::default()
    }

    fn drain(&self, local: &mut Local, words: &[u64]) {
        local.sums[4].0 += words.len() as u64;
        local.buffered = words.iter().fold(local.buffered, |sum, word| sum.wrapping_add(*word));
    }

    fn finish(&self, local: &Local) -> Sums {
        let mut sums = local.sums;
        sums[5].0 = u64::from(local.called != local.buffered);
        sums
    }

    fn fold(&self, total: &mut Sums, _: SliceInfo, sums: Sums) {
        total.merge(sums);
    }

    fn fini(&self, total: Sums, out: &mut Out<'_>) -> std::io::Result<()> {
        let [blocks, blocks_wrong, addresses, addresses_wrong, words, words_wrong] = total.map(|sum| sum.0);
        writeln!(out, "keeping: {blocks_wrong} {addresses_wrong} {words_wrong} wrong of {blocks} {addresses} {words}")
    }
}
