//! Calls that a test decides about: addresses collected in a small array that is emptied when it is full, and accesses to some
//! addresses only. Both are checked against calls that are always made.

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{Arg, At, NoOptions, Out, SliceInfo, Tool, Trace};

const ROOM: usize = 32;

/// What a slice has.
#[derive(Default)]
pub struct Local {
    collected: [u64; ROOM],
    count: u64,
    sums: Sums,
}

/// Addresses collected and those that calls got; accesses that passed the filter, and those that should have.
type Sums = [(Sum, Sum); 2];

/// The tool.
pub struct Tested;

fn add(sum: &mut Sum, value: u64) {
    sum.0 = sum.0.wrapping_add(value);
}

/// Says whether the array is full.
fn collect(local: &mut Local, address: u64) -> bool {
    local.collected[local.count as usize % ROOM] = address;
    local.count += 1;
    local.count == ROOM as u64
}

fn empty(local: &mut Local) {
    for address in &local.collected[..local.count as usize] {
        add(&mut local.sums[0].0, *address);
    }
    local.count = 0;
}

fn compare(local: &mut Local, address: u64) {
    add(&mut local.sums[0].1, address);
    let expected = passes(local, address);
    add(&mut local.sums[1].1, u64::from(expected));
}

fn passes(_: &mut Local, address: u64) -> bool {
    address >> 4 & 63 == 5
}

fn passed(local: &mut Local, step: u64) {
    add(&mut local.sums[1].0, step);
}

impl Tool for Tested {
    const NAME: &'static str = "tested";
    const ABOUT: &'static str = "Check calls that a test decides about";
    type Options = NoOptions;
    type Local = Local;
    type Result = Sums;
    type Total = Sums;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        for instruction in trace.instructions() {
            for operand in 0..instruction.memory_operands().len() {
                let address = (Arg::MemoryAddress(operand),);
                instruction.call_if(At::Before, collect, address, empty, ());
                instruction.call_if(At::Before, passes, address, passed, (1_u8,));
                instruction.call(At::Before, compare, address);
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::default()
    }

    fn finish(&self, local: &Local) -> Sums {
        let mut rest = Local { collected: local.collected, count: local.count, sums: local.sums };
        empty(&mut rest);
        rest.sums
    }

    fn fold(&self, total: &mut Sums, _: SliceInfo, sums: Sums) {
        total.merge(sums);
    }

    fn fini(&self, total: Sums, out: &mut Out<'_>) -> std::io::Result<()> {
        for (name, (got, expected)) in ["collected", "filtered"].iter().zip(total) {
            writeln!(out, "{name}: {} {}", got.0, expected.0)?;
        }
        Ok(())
    }
}
