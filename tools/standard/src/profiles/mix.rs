//! `mix`: executed instructions, added up by what one asks for: mnemonic, class, extension, size, image, routine, line, address, or several of these at once.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use superpin_tool::json::{Map, Value, json};
use superpin_tool::merge::Merge;
use superpin_tool::{AppPc, BlockCounts, Code, CodeInstruction, Images, Out, Repeat, SliceInfo, Tool, Trace};

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
}

impl Key {
    fn name(self) -> &'static str {
        match self {
            Self::Mnemonic => "mnemonic",
            Self::Class => "class",
            Self::Extension => "extension",
            Self::Length => "length",
            Self::Image => "image",
            Self::Routine => "routine",
            Self::Line => "line",
            Self::Address => "address",
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
    type Total = Code;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn repeat(&self) -> Repeat {
        self.options.repeat.repeat
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

    fn values_with(&self, total: &Code, images: &Images) -> Option<Value> {
        let row = |(count, values): (u64, Vec<String>)| {
            let mut row: Map<String, Value> =
                self.options.by.iter().zip(values).map(|(key, value)| (key.name().into(), value.into())).collect();
            row.insert("instructions".into(), count.into());
            Value::Object(row)
        };
        let rows: Vec<Value> = self.rows(total, images).into_iter().map(row).collect();
        Some(json!({ "instructions": total.total(), "rows": rows }))
    }
}

impl Mix {
    /// Counts and what they are counts of, the greatest first.
    fn rows(&self, total: &Code, images: &Images) -> Vec<(u64, Vec<String>)> {
        let mut places = Places { images, routines: HashMap::new() };
        let by: BTreeMap<Vec<String>, u64> =
            total.by(|instruction| self.options.by.iter().map(|key| places.value(*key, instruction)).collect());
        let mut rows: Vec<_> = by.into_iter().map(|(values, count)| (count, values)).collect();
        rows.sort_by(|(one, a), (other, b)| (Reverse(one), a).cmp(&(Reverse(other), b)));
        rows
    }
}

/// What addresses are called.
struct Places<'a> {
    images: &'a Images,
    /// Names as people write them, by the routine's address.
    routines: HashMap<AppPc, String>,
}

impl Places<'_> {
    fn value(&mut self, key: Key, instruction: &CodeInstruction) -> String {
        let at = instruction.address();
        match key {
            Key::Mnemonic => instruction.mnemonic().to_owned(),
            Key::Class => instruction.class().to_string(),
            Key::Extension => instruction.extension().to_string(),
            Key::Length => format!("{:2}", instruction.bytes().len()),
            Key::Image => self.images.at(at).map_or("?".into(), |image| image.name().to_owned()),
            Key::Routine => match self.images.routine_at(at) {
                Some(routine) => {
                    let name = self.routines.entry(routine.address()).or_insert_with(|| routine.demangled());
                    name.clone()
                }
                None => "?".into(),
            },
            Key::Line => self.images.line_at(at).map_or("?".into(), |line| line.to_string()),
            Key::Address => format!("{:#018x}", at.0),
        }
    }
}
