//! `opcodes`: how often instructions of each kind are executed, by mnemonic. The sum is what `icount1` counts.

use std::collections::BTreeMap;

use superpin_tool::json::{Value, json};
use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{Arg, At, MNEMONICS, Out, Repeat, SliceInfo, Tool, Trace, mnemonic_name};

use crate::repeat::RepeatOption;

/// Options.
#[derive(clap::Args)]
pub struct Options {
    /// How many lines to print, the most frequent first; 0: all
    #[arg(long, default_value_t = 0)]
    top: usize,
    #[command(flatten)]
    repeat: RepeatOption,
}

/// The tool.
pub struct Opcodes {
    top: usize,
    repeat: RepeatOption,
}

/// How often each was executed, by number of the mnemonic.
pub type Counts = [u64; MNEMONICS];

fn count(counts: &mut Counts, mnemonic: u64, instructions: u64) {
    let count = &mut counts[mnemonic as usize % MNEMONICS];
    *count = count.wrapping_add(instructions);
}

impl Tool for Opcodes {
    const NAME: &'static str = "opcodes";
    const ABOUT: &'static str = "Count executed instructions by mnemonic";
    type Options = Options;
    type Local = Counts;
    type Result = BTreeMap<u16, Sum>;
    type Total = BTreeMap<u16, Sum>;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { top: options.top, repeat: options.repeat })
    }

    fn repeat(&self) -> Repeat {
        self.repeat.repeat
    }

    fn instrument(&self, trace: &Trace<'_, Counts>) {
        for instruction in trace.instructions() {
            instruction.call(At::Before, count, (instruction.mnemonic_number(), Arg::BlockInstructions));
        }
    }

    fn begin(&self, _: SliceInfo) -> Counts {
        [0; MNEMONICS]
    }

    fn finish(&self, counts: &Counts) -> Self::Result {
        (0..).zip(counts).filter(|(_, count)| **count != 0).map(|(mnemonic, count)| (mnemonic, Sum(*count))).collect()
    }

    fn fold(&self, total: &mut Self::Total, _: SliceInfo, counts: Self::Result) {
        Merge::merge(total, counts);
    }

    fn fini(&self, total: Self::Total, out: &mut Out<'_>) -> std::io::Result<()> {
        let all: u64 = total.values().map(|count| count.0).sum();
        let mut sorted: Vec<(u64, &str)> = total
            .into_iter()
            .map(|(mnemonic, count)| (count.0, mnemonic_name(usize::from(mnemonic)).unwrap_or("?")))
            .collect();
        // The most frequent first, and those that are equally frequent by name.
        sorted.sort_by_key(|&(count, name)| (std::cmp::Reverse(count), name));
        let lines = if self.top == 0 { sorted.len() } else { self.top };
        writeln!(out, "Total Count: {}", out.total(all))?;
        for (count, name) in sorted.into_iter().take(lines) {
            writeln!(out, "{count:>16} {:>6.2} % {name}", 100.0 * count as f64 / all as f64)?;
        }
        self.repeat.say(out)
    }

    fn values(&self, total: &Self::Total) -> Option<Value> {
        let named = total.iter().filter_map(|(mnemonic, count)| Some((mnemonic_name((*mnemonic).into())?, count.0)));
        let mnemonics: BTreeMap<&str, u64> = named.collect();
        Some(json!({ "instructions": total.values().map(|count| count.0).sum::<u64>(), "mnemonics": mnemonics }))
    }
}
