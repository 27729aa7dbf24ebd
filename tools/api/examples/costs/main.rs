//! What one thing that tools do costs: each of these tools does one, for each block or each memory access. `scripts/costs.sh` measures them, with DynamoRIO's where it is there.

#![no_main]

use std::collections::HashMap;
use std::marker::PhantomData;

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{Arg, At, Gpr, NoOptions, Out, SliceInfo, State, Tool, Trace};

superpin_tool::image!(Does<Count>, Does<Branch>, Does<Floating>, Does<Table>, Does<Checked>, Does<Stream>, Does<Whole>);

/// What a slice has seen.
#[derive(Default)]
struct Local {
    sums: [u64; 2],
    average: f64,
    table: HashMap<u64, u64>,
}

/// One thing that a tool does.
trait Thing: 'static {
    const NAME: &'static str;
    const ABOUT: &'static str;
    const READS_FLAGS: bool = false;
    fn instrument(trace: &Trace<'_, Local>);
}

struct Count;

fn count(local: &mut Local) {
    local.sums[0] = local.sums[0].wrapping_add(1);
}

impl Thing for Count {
    const NAME: &'static str = "count";
    const ABOUT: &'static str = "A counter for each block, all in one word";
    fn instrument(trace: &Trace<'_, Local>) {
        trace.blocks().for_each(|block| block.call(At::Anywhere, count, ()));
    }
}

struct Branch;

fn add_and_branch(local: &mut Local, address: u64) {
    local.sums[0] = local.sums[0].wrapping_add(1);
    if address & 64 != 0 {
        local.sums[1] = local.sums[1].wrapping_add(address);
    }
}

impl Thing for Branch {
    const NAME: &'static str = "branch";
    const ABOUT: &'static str = "Two additions and a branch for each memory access";
    fn instrument(trace: &Trace<'_, Local>) {
        for instruction in trace.instructions() {
            if !instruction.memory_operands().is_empty() {
                instruction.call(At::Before, add_and_branch, (Arg::MemoryAddress(0),));
            }
        }
    }
}

struct Floating;

fn average(local: &mut Local, n: u64) {
    local.average += (n as f64 - local.average) / 1024.0;
    local.sums[0] = local.sums[0].wrapping_add(1);
}

impl Thing for Floating {
    const NAME: &'static str = "floating";
    const ABOUT: &'static str = "A moving average of each block's length, in floating point";
    fn instrument(trace: &Trace<'_, Local>) {
        for block in trace.blocks() {
            block.call(At::Before, average, (block.instructions().count() as u64,));
        }
    }
}

struct Table;

fn insert(local: &mut Local, pc: u64) {
    *local.table.entry(pc).or_default() += 1;
}

impl Thing for Table {
    const NAME: &'static str = "table";
    const ABOUT: &'static str = "An entry of a hash table for each block";
    fn instrument(trace: &Trace<'_, Local>) {
        trace.blocks().for_each(|block| block.call(At::Before, insert, (Arg::Pc,)));
    }
}

struct Checked;

fn checked(local: &mut Local, n: u64) {
    local.sums[n as usize] = local.sums[n as usize].checked_add(1).expect("fewer blocks");
}

impl Thing for Checked {
    const NAME: &'static str = "checked";
    const ABOUT: &'static str = "A counter for each block, with a check that panics";
    fn instrument(trace: &Trace<'_, Local>) {
        for block in trace.blocks() {
            block.call(At::Before, checked, (block.instructions().count() as u64 & 1,));
        }
    }
}

struct Stream;

impl Thing for Stream {
    const NAME: &'static str = "stream";
    const ABOUT: &'static str = "The address of each memory access, by the buffer";
    fn instrument(trace: &Trace<'_, Local>) {
        for instruction in trace.instructions() {
            if !instruction.memory_operands().is_empty() {
                instruction.buffer((Arg::MemoryAddress(0),));
            }
        }
    }
}

struct Whole;

fn look(local: &mut Local, state: &State<'_>) {
    local.sums[0] = local.sums[0].wrapping_add(u64::from(state.gpr(Gpr::Rcx) == 0));
    local.sums[1] = local.sums[1].wrapping_add(u64::from(state.vector(0)[0]));
}

impl Thing for Whole {
    const NAME: &'static str = "whole";
    const ABOUT: &'static str = "A call with the app's whole state for each block";
    const READS_FLAGS: bool = true;
    fn instrument(trace: &Trace<'_, Local>) {
        trace.blocks().for_each(|block| block.first().call_with_state(At::Before, look));
    }
}

struct Does<T>(PhantomData<T>);

impl<T: Thing> Tool for Does<T> {
    const NAME: &'static str = T::NAME;
    const ABOUT: &'static str = T::ABOUT;
    const READS_FLAGS: bool = T::READS_FLAGS;
    type Options = NoOptions;
    type Local = Local;
    type Result = [Sum; 3];
    type Total = [Sum; 3];

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self(PhantomData))
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        T::instrument(trace);
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::default()
    }

    fn drain(&self, local: &mut Local, words: &[u64]) {
        let sum = words.iter().fold(0, |sum: u64, word| sum.wrapping_add(*word));
        local.sums[0] = local.sums[0].wrapping_add(sum);
    }

    fn finish(&self, local: &Local) -> [Sum; 3] {
        [local.sums[0], local.sums[1], local.table.values().sum()].map(Sum)
    }

    fn fold(&self, total: &mut [Sum; 3], _: SliceInfo, slice: [Sum; 3]) {
        total.merge(slice);
    }

    fn fini(&self, [first, second, entries]: [Sum; 3], out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "{}: {} {} {}", T::NAME, first.0, second.0, entries.0)
    }
}
