//! `hot-calls`: counts calls, and prints the functions that are called most by direct calls.

#![no_main]

use std::collections::BTreeMap;
use std::num::NonZeroUsize;

use superpin_tool::clap;
use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{AppPc, At, Out, SliceInfo, Tool, Trace};

superpin_tool::image!(HotCalls);

/// What stands between `-t hot-calls` and `--`.
#[derive(clap::Args)]
struct Options {
    /// How many functions to print
    #[arg(long, default_value = "10")]
    top: NonZeroUsize,
}

struct HotCalls {
    top: usize,
}

/// A slice's state: all calls, and those of each function that a direct call names.
type Counts = (Sum, BTreeMap<u64, Sum>);

/// Small enough to be inlined: one addition in the app's code.
fn call(counts: &mut Counts) {
    counts.0.0 = counts.0.0.wrapping_add(1);
}

/// Not inlined; the map lives on the tool's own heap.
fn call_of(counts: &mut Counts, function: u64) {
    counts.1.entry(function).or_default().0 += 1;
}

impl Tool for HotCalls {
    const NAME: &'static str = "hot-calls";
    const ABOUT: &'static str = "Count calls, and show the functions that are called most";
    type Options = Options;
    type Local = Counts;
    type Result = Counts;
    type Total = Counts;

    fn new(options: Options) -> Result<Self, String> {
        Ok(HotCalls { top: options.top.get() })
    }

    fn instrument(&self, trace: &Trace<'_, Counts>) {
        for instruction in trace.instructions().filter(|instruction| instruction.is_call()) {
            instruction.call(At::Before, call, ());
            if let Some(function) = instruction.branch_target() {
                instruction.call(At::Before, call_of, (function,));
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Counts {
        Counts::default()
    }

    fn finish(&self, counts: &Counts) -> Counts {
        counts.clone()
    }

    fn fold(&self, total: &mut Counts, _: SliceInfo, counts: Counts) {
        total.merge(counts);
    }

    fn fini(&self, (calls, functions): Counts, out: &mut Out<'_>) -> std::io::Result<()> {
        let mut functions: Vec<_> = functions.into_iter().collect();
        functions.sort_by_key(|&(address, count)| (std::cmp::Reverse(count.0), address));
        writeln!(out, "Calls: {}", calls.0)?;
        for (address, count) in functions.iter().take(self.top) {
            let routine = out.images().routine_at(AppPc(*address));
            let name = routine.map_or_else(|| format!("{address:#x}"), |routine| routine.demangled());
            writeln!(out, "{:>12}  {name}", count.0)?;
        }
        Ok(())
    }
}
