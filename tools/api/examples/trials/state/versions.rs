//! Versions of a block's calls: what each version's calls see together is what all calls see.

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{Arg, At, Gpr, NoOptions, Out, SliceInfo, Tool, Trace};

/// How many accesses there were in the versions 0, 1 and 2, and as many as calls have counted that are always made; the same of sums of their addresses.
type Sums = [[Sum; 2]; 6];

/// What a slice has.
#[derive(Default)]
pub struct Local {
    version: u64,
    sums: Sums,
}

/// The tool.
pub struct VersionsOf;

fn choose(local: &mut Local, stack_pointer: u64, pc: u64) -> u64 {
    local.version = (stack_pointer >> 4 ^ pc) & 3;
    local.version
}

fn add(sums: &mut Sums, version: u64, of: usize, address: u64) {
    let [count, sum] = [version as usize, version as usize + 3];
    sums[count][of].0 += 1;
    sums[sum][of].0 = sums[sum][of].0.wrapping_add(address);
}

fn in_version(local: &mut Local, version: u64, address: u64) {
    add(&mut local.sums, version, 0, address);
}

fn always(local: &mut Local, address: u64) {
    if local.version < 3 {
        add(&mut local.sums, local.version, 1, address);
    }
}

impl Tool for VersionsOf {
    const NAME: &'static str = "versions";
    const ABOUT: &'static str = "Check versions of calls";
    type Options = NoOptions;
    type Local = Local;
    type Result = Sums;
    type Total = Sums;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        for block in trace.blocks() {
            let versions = block.versions(choose, (Gpr::Rsp, Arg::Pc));
            for instruction in block.instructions().filter(|i| !i.memory_operands().is_empty()) {
                for version in 0..3 {
                    instruction.call_in(versions, version, in_version, (version, Arg::MemoryAddress(0)));
                }
                instruction.call(At::Before, always, (Arg::MemoryAddress(0),));
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::default()
    }

    fn finish(&self, local: &Local) -> Sums {
        local.sums
    }

    fn fold(&self, total: &mut Sums, _: SliceInfo, sums: Sums) {
        total.merge(sums);
    }

    fn fini(&self, total: Sums, out: &mut Out<'_>) -> std::io::Result<()> {
        let wrong = total.iter().filter(|[versions, all]| versions != all).count();
        let counts: Vec<u64> = total[..3].iter().map(|[count, _]| count.0).collect();
        writeln!(out, "versions: {wrong} wrong of {counts:?}")
    }
}
