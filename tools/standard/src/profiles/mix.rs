//! `mix`: executed instructions, added up by what one asks for: mnemonic, class, extension, width, length, image, routine, line, address, thread, or several of these at once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use superpin_tool::json::{Map, Value, json};
use superpin_tool::merge::Merge;
use superpin_tool::{
    BlockCounts, Code, CodeInstruction, Images, Operand, OperandKind, Out, Repeat, SliceInfo, ThreadInfo, ThreadPath,
    Threads, Tool, Trace,
};

use crate::repeat::RepeatOption;

/// Characters of a column, at most; longer values move what is behind them.
const WIDEST: usize = 60;

/// By what instructions can be told apart.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Key {
    /// Mnemonic
    Mnemonic,
    /// Pin's category
    Class,
    /// CPUID feature
    Extension,
    /// Bits of the widest register or memory that it names
    Width,
    /// Bytes of its encoding
    Length,
    /// Program or library
    Image,
    /// Function
    Routine,
    /// Source line
    Line,
    /// Address
    Address,
    /// Thread: the first is 0, those that it starts are 0.1, 0.2, and so on
    Thread,
}

impl Key {
    fn name(self) -> &'static str {
        match self {
            Self::Mnemonic => "mnemonic",
            Self::Class => "class",
            Self::Extension => "extension",
            Self::Width => "width",
            Self::Length => "length",
            Self::Image => "image",
            Self::Routine => "routine",
            Self::Line => "line",
            Self::Address => "address",
            Self::Thread => "thread",
        }
    }
}

/// Options.
#[derive(clap::Args)]
#[command(
    after_help = "Example, instructions by function, and in each by class: superpin -sp 1 -t mix --by routine,class --top 20 -- ls"
)]
pub struct Options {
    /// What to tell apart, one or several of these
    #[arg(long, value_enum, value_delimiter = ',', default_value = "class")]
    by: Vec<Key>,
    /// How many lines to print, the most frequent first; 0: all
    #[arg(long, default_value_t = 0)]
    top: usize,
    #[command(flatten)]
    repeat: RepeatOption,
}

/// What each thread has executed, if threads are told apart; else all under the first one.
type ByThread = BTreeMap<ThreadPath, Code>;

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
        if self.options.by.contains(&Key::Thread) { Threads::Each } else { Threads::AnyOrder }
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
        let rows = self.rows(&total, out.images());
        let all: u64 = rows.iter().map(|(count, _)| count).sum();
        writeln!(out, "Total Count: {}", out.total(all))?;
        // Columns are as wide as their widest value: names of templates are longer than any line.
        let keys = &self.options.by;
        let shown = if self.options.top == 0 { rows.len() } else { self.options.top.min(rows.len()) };
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
            let mut row: Map<String, Value> =
                self.options.by.iter().zip(values).map(|(key, value)| (key.name().into(), value.into())).collect();
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
        let mut places = Places { images, routines: HashMap::new() };
        let mut by: BTreeMap<Vec<String>, u64> = BTreeMap::new();
        for (thread, code) in total {
            let values = |instruction: &CodeInstruction| {
                self.options.by.iter().map(|key| places.value(*key, thread, instruction)).collect()
            };
            for (values, count) in code.by(values) {
                *by.entry(values).or_default() += count;
            }
        }
        let mut rows: Vec<_> = by.into_iter().map(|(values, count)| (count, values)).collect();
        rows.sort_by(|(one, a), (other, b)| (Reverse(one), a).cmp(&(Reverse(other), b)));
        rows
    }
}

/// Bits of the widest register or memory that an instruction names, if it names any.
fn width(instruction: &CodeInstruction) -> Option<u32> {
    let is_value = |operand: &Operand| matches!(operand.kind, OperandKind::Register(_) | OperandKind::Memory(_));
    let named = instruction.operands().into_iter().filter(|operand| !operand.implicit && is_value(operand));
    named.map(|operand| operand.size * 8).max()
}

/// What addresses are called.
struct Places<'a> {
    images: &'a Images,
    /// Names as people write them, by those that linkers have.
    routines: HashMap<&'a str, String>,
}

impl<'a> Places<'a> {
    fn value(&mut self, key: Key, thread: &ThreadPath, instruction: &CodeInstruction) -> String {
        let at = instruction.address();
        match key {
            Key::Mnemonic => instruction.mnemonic().to_owned(),
            Key::Class => instruction.class().to_string(),
            Key::Extension => instruction.extension().to_string(),
            Key::Width => width(instruction).map_or("-".into(), |bits| format!("{bits:3}")),
            Key::Length => format!("{:2}", instruction.bytes().len()),
            Key::Image => self.images.at(instruction).map_or("?".into(), |image| image.name().to_owned()),
            Key::Routine => match self.images.routine_at(instruction) {
                Some(routine) => {
                    let name = self.routines.entry(routine.name()).or_insert_with(|| routine.demangled());
                    name.clone()
                }
                None => "?".into(),
            },
            Key::Line => self.images.line_at(instruction).map_or("?".into(), |line| line.to_string()),
            Key::Address => format!("{:#018x}", at.0),
            Key::Thread => thread.to_string(),
        }
    }
}
