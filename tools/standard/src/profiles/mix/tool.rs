//! `mix`: executed instructions, added up by what one asks for: mnemonic, class, extension, width, length, image, routine, line, block, address, thread, or several of these at once.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use superpin_tool::json::{Map, Value, json};
use superpin_tool::merge::Merge;
use superpin_tool::{
    BlockCounts, Code, Images, Out, Repeat, SliceInfo, ThreadInfo, ThreadPath, Threads, Tool, Trace, clap,
};

use super::keys::{Key, Places};
use super::sde;
use crate::repeat::RepeatOption;

/// Characters of a column, at most; longer values move what is behind them.
const WIDEST: usize = 60;

/// Options.
#[derive(clap::Args)]
#[command(
    after_help = "Example, instructions by function, and in each by class: superpin -sp 1 -t mix --by routine,class --top 20 -- ls"
)]
pub struct Options {
    /// What to tell apart, one or several of these
    #[arg(long, value_enum, value_delimiter = ',', default_value = "class")]
    by: Vec<Key>,
    /// How many lines to print, the most frequent first; 0: all. With --sde: how many blocks of each thread [default: 0, with --sde 20]
    #[arg(long)]
    top: Option<usize>,
    /// Write sections as Intel's SDE does with -mix: of each thread, and of all, blocks with their code and instructions by what they access, extension, category and mnemonic
    #[arg(long, conflicts_with = "by")]
    sde: bool,
    #[command(flatten)]
    repeat: RepeatOption,
}

/// What each thread has executed, if threads are told apart; else all under the first one.
pub(super) type ByThread = BTreeMap<ThreadPath, Code>;

/// The tool.
pub struct Mix {
    options: Options,
}

impl Tool for Mix {
    const NAME: &'static str = "mix";
    const ABOUT: &'static str = "Count executed instructions by class, extension, routine, image, line …";
    type Options = Options;
    type Local = BlockCounts;
    type Result = Code;
    type Total = ByThread;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn repeat(&self) -> Repeat {
        self.options.repeat.repeat
    }

    fn threads(&self) -> Threads {
        if self.options.sde || self.options.by.contains(&Key::Thread) { Threads::Each } else { Threads::AnyOrder }
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

    fn fold(&self, total: &mut ByThread, _: SliceInfo, executed: Code) {
        total.entry(ThreadPath::default()).or_default().merge(executed);
    }

    fn fold_thread(&self, total: &mut ByThread, _: SliceInfo, thread: &ThreadInfo, executed: Code) {
        total.entry(thread.path.clone()).or_default().merge(executed);
    }

    fn fini(&self, total: ByThread, out: &mut Out<'_>) -> std::io::Result<()> {
        if self.options.sde {
            return sde::write(&total, self.options.top.unwrap_or(sde::BLOCKS), self.options.repeat.repeat, out);
        }
        let rows = self.rows(&total, out.images());
        let all: u64 = rows.iter().map(|(count, _)| count).sum();
        writeln!(out, "Total Count: {}", out.total(all))?;
        // Columns are as wide as their widest value: names of templates are longer than any line.
        let keys = &self.options.by;
        let shown = self.options.top.filter(|top| *top > 0).map_or(rows.len(), |top| top.min(rows.len()));
        let width = |n: usize| {
            let values = rows[..shown].iter().map(|(_, values)| values[n].chars().count());
            values.chain([keys[n].name().len()]).max().unwrap_or(0).min(WIDEST)
        };
        let widths: Vec<usize> = (0..keys.len()).map(width).collect();
        let line = |values: &mut dyn Iterator<Item = &str>| {
            let padded: Vec<String> = values.zip(&widths).map(|(value, width)| format!("{value:<width$}")).collect();
            padded.join("  ").trim_end().to_owned()
        };
        writeln!(out, "{:>16} {:>8}  {}", "instructions", "%", line(&mut keys.iter().map(|key| key.name())))?;
        for (count, values) in &rows[..shown] {
            let percent = 100.0 * *count as f64 / all.max(1) as f64;
            writeln!(out, "{count:>16} {percent:>8.2}  {}", line(&mut values.iter().map(String::as_str)))?;
        }
        self.options.repeat.say(out)
    }

    fn values_with(&self, total: &ByThread, images: &Images) -> Option<Value> {
        let row = |(count, values): (u64, Vec<String>)| {
            let mut row = Map::new();
            self.options.by.iter().zip(values).for_each(|(key, value)| row.extend(key.members(&value)));
            row.insert("instructions".into(), count.into());
            Value::Object(row)
        };
        let rows: Vec<Value> = self.rows(total, images).into_iter().map(row).collect();
        let all = total.values().map(Code::total).fold(0, u64::wrapping_add);
        let repetitions = self.options.repeat.repeat.to_string();
        Some(json!({ "instructions": all, "repetitions": repetitions, "rows": rows }))
    }
}

impl Mix {
    /// Counts and what they are counts of, the greatest first.
    fn rows(&self, total: &ByThread, images: &Images) -> Vec<(u64, Vec<String>)> {
        let mut places = Places::new(images);
        let mut by: BTreeMap<Vec<String>, u64> = BTreeMap::new();
        for (thread, code) in total {
            for block in code.blocks() {
                for instruction in block.instructions() {
                    let value = |key: &Key| places.value(*key, thread, block.address().0, &instruction);
                    let sum: &mut u64 = by.entry(self.options.by.iter().map(value).collect()).or_default();
                    *sum = sum.wrapping_add(instruction.executions());
                }
            }
        }
        let mut rows: Vec<_> = by.into_iter().map(|(values, count)| (count, values)).collect();
        rows.sort_by(|(one, a), (other, b)| (Reverse(one), a).cmp(&(Reverse(other), b)));
        rows
    }
}
