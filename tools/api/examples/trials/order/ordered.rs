//! Writes down every call in the order of execution, so that parts that are folded in another order would show.

use superpin_tool::merge::{Append, Merge};
use superpin_tool::{Arg, At, NoOptions, Out, SliceInfo, Stream, Tool, Trace};

/// Options.
#[derive(clap::Args)]
pub struct Options {
    /// How many lines to print; the hash is of all
    #[arg(long, default_value_t = 0)]
    lines: usize,
}

/// The tool.
pub struct Ordered {
    lines: usize,
}

fn note(calls: &mut Append<(u64, u64)>, pc: u64, rsp: u64) {
    calls.0.push((pc, rsp));
}

impl Tool for Ordered {
    const NAME: &'static str = "ordered";
    const ABOUT: &'static str = "List calls in the order of execution";
    type Options = Options;
    type Local = Append<(u64, u64)>;
    type Result = Append<(u64, u64)>;
    type Total = Append<(u64, u64)>;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { lines: options.lines })
    }

    fn instrument(&self, trace: &Trace<'_, Self::Local>) {
        for call in trace.instructions().filter(|instruction| instruction.is_call()) {
            call.call(At::Before, note, (Arg::Pc, superpin_tool::Gpr::Rsp));
        }
    }

    fn begin(&self, _: SliceInfo) -> Self::Local {
        Append::default()
    }

    fn finish(&self, calls: &Self::Local) -> Self::Result {
        calls.clone()
    }

    fn fold(&self, total: &mut Self::Total, _: SliceInfo, calls: Self::Result) {
        total.merge(calls);
    }

    fn fini(&self, calls: Self::Total, out: &mut Out<'_>) -> std::io::Result<()> {
        let step = |hash: u64, &(pc, rsp): &(u64, u64)| (hash ^ pc ^ rsp.rotate_left(32)).wrapping_mul(0x100_0000_01b3);
        writeln!(out, "{} calls, hash {:016x}", calls.0.len(), calls.0.iter().fold(0, step))?;
        for (pc, rsp) in calls.0.iter().take(self.lines) {
            writeln!(out, "{pc:#x} {rsp:#x}")?;
        }
        Ok(())
    }
}

/// A tool that writes where calls go, as they happen.
pub struct Written;

fn call(stream: &mut Stream, pc: u64, target: u64) {
    writeln!(stream, "{pc:#x} calls {target:#x}");
}

impl Tool for Written {
    const NAME: &'static str = "written";
    const ABOUT: &'static str = "Write where calls go";
    const STREAM: bool = true;
    type Options = NoOptions;
    type Local = Stream;
    type Result = ();
    type Total = u64;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Stream>) {
        for instruction in trace.instructions().filter(|instruction| instruction.is_call()) {
            instruction.call(At::Taken, call, (Arg::Pc, Arg::BranchTarget));
        }
    }

    fn begin(&self, _: SliceInfo) -> Stream {
        Stream::new()
    }

    fn finish(&self, _: &Stream) {}

    fn fold(&self, slices: &mut u64, _: SliceInfo, (): ()) {
        *slices += 1;
    }

    fn fini(&self, slices: u64, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "the end{}", if slices == 0 { ", of nothing" } else { "" })
    }
}
