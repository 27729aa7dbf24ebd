//! `opcodes`: how often instructions of each kind are executed, by mnemonic. The sum is what `icount1` counts.

use std::collections::BTreeMap;

use superpin_tool::json::{Value, json};
use superpin_tool::merge::Merge;
use superpin_tool::{BlockCounts, Code, Out, Repeat, SliceInfo, Tool, Trace};

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

impl Tool for Opcodes {
    const NAME: &'static str = "opcodes";
    const ABOUT: &'static str = "Count executed instructions by mnemonic";
    type Options = Options;
    type Local = BlockCounts;
    type Result = Code;
    type Total = Code;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { top: options.top, repeat: options.repeat })
    }

    fn repeat(&self) -> Repeat {
        self.repeat.repeat
    }

    fn instrument(&self, trace: &Trace<'_, BlockCounts>) {
        trace.count_blocks();
    }

    fn begin(&self, _: SliceInfo) -> BlockCounts {
        BlockCounts::new()
    }

    fn finish(&self, blocks: &BlockCounts) -> Code {
        blocks.executed()
    }

    fn fold(&self, total: &mut Code, _: SliceInfo, executed: Code) {
        total.merge(executed);
    }

    fn fini(&self, total: Code, out: &mut Out<'_>) -> std::io::Result<()> {
        let mut sorted: Vec<(u64, &str)> = by_mnemonic(&total).into_iter().map(|(name, count)| (count, name)).collect();
        let all: u64 = sorted.iter().map(|(count, _)| count).sum();
        // The most frequent first, and those that are equally frequent by name.
        sorted.sort_by_key(|&(count, name)| (std::cmp::Reverse(count), name));
        let lines = if self.top == 0 { sorted.len() } else { self.top };
        writeln!(out, "Total Count: {}", out.total(all))?;
        for (count, name) in sorted.into_iter().take(lines) {
            writeln!(out, "{count:>16} {:>6.2} % {name}", 100.0 * count as f64 / all as f64)?;
        }
        self.repeat.say(out)
    }

    fn values(&self, total: &Code) -> Option<Value> {
        let mnemonics = by_mnemonic(total);
        Some(json!({ "instructions": mnemonics.values().sum::<u64>(), "mnemonics": mnemonics }))
    }
}

fn by_mnemonic(total: &Code) -> BTreeMap<&'static str, u64> {
    total.by(|instruction| instruction.mnemonic())
}
