//! `opcodes`: how often instructions of each kind are executed, by mnemonic. The sum is what `icount1` counts.

use std::collections::BTreeMap;

use superpin_tool::json::{Value, json};
use superpin_tool::merge::Merge;
use superpin_tool::{BlockCounts, Code, Out, Repeat, SliceInfo, ThreadInfo, ThreadPath, Threads, Tool, Trace};

use crate::repeat::RepeatOption;
use crate::threads::{self, ThreadsOption};

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Example, the ten commonest: superpin -sp 1 -t opcodes --top 10 -- ls")]
pub struct Options {
    /// How many lines to print, the most frequent first; 0: all
    #[arg(long, default_value_t = 0)]
    top: usize,
    #[command(flatten)]
    repeat: RepeatOption,
    #[command(flatten)]
    threads: ThreadsOption,
}

type Mnemonics = BTreeMap<&'static str, u64>;

/// What was executed, and by which threads, where that is asked for.
#[derive(Default)]
pub struct Executed {
    code: Code,
    threads: BTreeMap<ThreadPath, Mnemonics>,
}

/// The tool.
pub struct Opcodes {
    top: usize,
    repeat: RepeatOption,
    threads: ThreadsOption,
}

impl Tool for Opcodes {
    const NAME: &'static str = "opcodes";
    const ABOUT: &'static str = "Count executed instructions by mnemonic";
    type Options = Options;
    type Local = BlockCounts;
    type Result = Code;
    type Total = Executed;

    fn new(options: Options) -> Result<Self, String> {
        let Options { top, repeat, threads } = options;
        Ok(Self { top, repeat, threads })
    }

    fn repeat(&self) -> Repeat {
        self.repeat.repeat
    }

    fn threads(&self) -> Threads {
        self.threads.threads()
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

    fn fold(&self, total: &mut Executed, _: SliceInfo, executed: Code) {
        total.code.merge(executed);
    }

    fn fold_thread(&self, total: &mut Executed, slice: SliceInfo, thread: &ThreadInfo, executed: Code) {
        let of_thread = total.threads.entry(thread.path.clone()).or_default();
        for (mnemonic, count) in by_mnemonic(&executed) {
            *of_thread.entry(mnemonic).or_default() += count;
        }
        self.fold(total, slice, executed);
    }

    fn fini(&self, total: Executed, out: &mut Out<'_>) -> std::io::Result<()> {
        let mut sorted: Vec<(u64, &str)> =
            by_mnemonic(&total.code).into_iter().map(|(name, count)| (count, name)).collect();
        let all: u64 = sorted.iter().map(|(count, _)| count).sum();
        // The most frequent first, and those that are equally frequent by name.
        sorted.sort_by_key(|&(count, name)| (std::cmp::Reverse(count), name));
        let lines = if self.top == 0 { sorted.len() } else { self.top };
        writeln!(out, "Total Count: {}", out.total(all))?;
        for (count, name) in sorted.into_iter().take(lines) {
            writeln!(out, "{count:>16} {:>6.2} % {name}", 100.0 * count as f64 / all as f64)?;
        }
        let threads = total.threads.into_iter().map(|(path, mnemonics)| (path, mnemonics.values().sum()));
        threads::print(&threads.collect(), out)?;
        self.repeat.say(out)
    }

    fn values(&self, total: &Executed) -> Option<Value> {
        let of =
            |mnemonics: &Mnemonics| json!({ "instructions": mnemonics.values().sum::<u64>(), "mnemonics": mnemonics });
        let mut values = of(&by_mnemonic(&total.code));
        values["repetitions"] = self.repeat.repeat.to_string().into();
        let each = total.threads.iter().map(|(path, mnemonics)| (path.clone(), of(mnemonics)));
        threads::add_to(&mut values, self.threads, each);
        Some(values)
    }
}

fn by_mnemonic(total: &Code) -> Mnemonics {
    total.by(|instruction| instruction.mnemonic())
}
