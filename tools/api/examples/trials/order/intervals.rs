//! Where the app is at every thousandth instruction, counted from the program's first.

use superpin_tool::merge::{Append, Merge};
use superpin_tool::{Arg, At, NoOptions, OnPrefix, Out, Prefix, SliceInfo, Tool, Trace};

/// Instructions from one look to the next.
const INTERVAL: u64 = 1000;

/// The tool.
pub struct Intervals;

#[derive(Default)]
pub struct Local {
    executed: u64,
    seen: Append<(u64, u64)>,
}

fn at(local: &mut Local, pc: u64) {
    if local.executed.is_multiple_of(INTERVAL) {
        local.seen.0.push((local.executed, pc));
    }
}

fn count(local: &mut Local, instructions: u64) {
    local.executed = local.executed.wrapping_add(instructions);
}

impl Intervals {
    fn begins(&self, local: &mut Local, prefix: Prefix) {
        local.executed = prefix.instructions;
    }
}

impl Tool for Intervals {
    const NAME: &'static str = "intervals";
    const ABOUT: &'static str = "Tell where the app is from time to time";
    const PREFIX: Option<OnPrefix<Self>> = Some(Self::begins);
    type Options = NoOptions;
    type Local = Local;
    type Result = Append<(u64, u64)>;
    type Total = Append<(u64, u64)>;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        for instruction in trace.instructions() {
            instruction.call(At::Before, at, (Arg::Pc,));
            instruction.call(At::Before, count, (Arg::BlockInstructions,));
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::default()
    }

    fn finish(&self, local: &Local) -> Self::Result {
        local.seen.clone()
    }

    fn fold(&self, total: &mut Self::Total, _: SliceInfo, seen: Self::Result) {
        total.merge(seen);
    }

    fn fini(&self, seen: Self::Total, out: &mut Out<'_>) -> std::io::Result<()> {
        for (n, (executed, pc)) in seen.0.iter().enumerate() {
            assert_eq!(*executed, n as u64 * INTERVAL, "at {pc:#x}");
            writeln!(out, "{executed} {pc:#x}")?;
        }
        Ok(())
    }
}
