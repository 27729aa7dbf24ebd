//! `blocks`: the basic blocks that were executed, how often, and where they are from.
//!
//! Blocks may overlap: a branch into the middle of one executes another one.

use std::cmp::Reverse;
use std::io;

use superpin_tool::json::{Value, json};
use superpin_tool::merge::Merge;
use superpin_tool::{BlockCounts, Code, CodeAddress, Images, Out, Repeat, SliceInfo, Tool, Trace};

use crate::repeat::RepeatOption;

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Example, the five blocks with most instructions: superpin -sp 1 -t blocks --top 5 -- ls")]
pub struct Options {
    /// How many blocks to print, those first in which most instructions were executed; 0: all
    #[arg(long, default_value_t = 20)]
    top: usize,
    #[command(flatten)]
    repeat: RepeatOption,
}

/// The tool.
pub struct Blocks {
    options: Options,
}

/// A block.
struct Block {
    at: CodeAddress,
    bytes: usize,
    /// In it.
    instructions: usize,
    executions: u64,
}

impl Block {
    /// Instructions that were executed in it.
    fn executed(&self) -> u64 {
        self.executions.wrapping_mul(self.instructions as u64)
    }
}

impl Blocks {
    fn blocks(&self, total: &Code) -> Vec<Block> {
        let block = |block: superpin_tool::CodeBlock<'_>| Block {
            at: block.code_address(),
            bytes: block.bytes().len(),
            instructions: block.len(),
            executions: block.executions(),
        };
        let mut all: Vec<Block> = total.blocks().map(block).collect();
        all.sort_by_key(|block| (Reverse(block.executed()), block.at.address, block.bytes));
        if self.options.top > 0 {
            all.truncate(self.options.top);
        }
        all
    }
}

/// Where a block is from: routine and distance from its start, source line.
fn place(images: &Images, at: CodeAddress) -> (String, String) {
    let (routine, address) = (images.routine_at(at), at.address);
    let name = routine.map(|routine| format!("{}+{:#x}", routine.demangled(), address.0 - routine.address().0));
    let line = images.line_at(at).filter(|line| line.line != 0).map(|line| line.to_string());
    (name.unwrap_or_else(|| "?".into()), line.unwrap_or_default())
}

impl Tool for Blocks {
    const NAME: &'static str = "blocks";
    const ABOUT: &'static str = "Count executions of basic blocks";
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

    fn fini(&self, total: Code, out: &mut Out<'_>) -> io::Result<()> {
        let all = total.total();
        writeln!(out, "Total Count: {}", out.total(all))?;
        writeln!(
            out,
            "{:>16} {:>16} {:>8} {:>18} {:>6} {:>4}  from",
            "executions", "instructions", "%", "address", "bytes", "each"
        )?;
        for block in self.blocks(&total) {
            let (executions, executed) = (block.executions, block.executed());
            let percent = 100.0 * executed as f64 / all.max(1) as f64;
            let (routine, line) = place(out.images(), block.at);
            let (address, bytes, each) = (block.at.address.0, block.bytes, block.instructions);
            let text = format!(
                "{executions:>16} {executed:>16} {percent:>8.2} {address:#18x} {bytes:>6} {each:>4}  {routine}  {line}"
            );
            writeln!(out, "{}", text.trim_end())?;
        }
        self.options.repeat.say(out)
    }

    fn values_with(&self, total: &Code, images: &Images) -> Option<Value> {
        let row = |block: Block| {
            let (routine, line) = (images.routine_at(block.at), images.line_at(block.at));
            let line = line.filter(|line| line.line != 0);
            json!({
                "address": block.at.address.0, "bytes": block.bytes, "instructions": block.instructions, "executions": block.executions,
                "routine": routine.as_ref().map(|routine| routine.demangled()),
                "offset": routine.map(|routine| block.at.address.0 - routine.address().0),
                "file": line.as_ref().map(|line| line.file.as_str()), "line": line.as_ref().map(|line| line.line),
            })
        };
        let rows: Vec<Value> = self.blocks(total).into_iter().map(row).collect();
        let repetitions = self.options.repeat.repeat.to_string();
        Some(json!({ "instructions": total.total(), "repetitions": repetitions, "blocks": rows }))
    }
}
