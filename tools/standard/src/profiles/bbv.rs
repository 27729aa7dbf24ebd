//! `bbv`: instructions executed in each block, by intervals of the run: vectors of basic blocks, as SimPoint reads them.
//!
//! ```text
//!   T:1:23 :2:7 :9:4970          an interval: block and instructions, for each block that was executed in it
//! ```
//!
//! A block belongs to the interval in which it begins. Blocks are numbered from 1, in the order in which they were first executed. An interval is so many instructions of the run, from its first one on, also in
//! slices: each is told how many were executed before it.

use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use superpin_tool::json::{Value, json};
use superpin_tool::serde::{Deserialize, Serialize};
use superpin_tool::{
    AddressHasher, AppPc, Arg, At, Images, OnPrefix, OnSignal, Out, Prefix, Repeat, SignalEvent, SliceInfo, Tool,
    Trace, clap,
};

use crate::repeat::RepeatOption;

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Example: superpin -sp 1 -t bbv --interval 10000000 -o app.bb -- app
and then: simpoint -loadFVFile app.bb -maxK 10 -saveSimpoints app.simpoints -saveSimpointWeights app.weights")]
pub struct Options {
    /// Instructions of an interval
    #[arg(long, value_name = "INSTRUCTIONS", default_value_t = 100_000_000)]
    interval: u64,
    /// Print what the blocks' numbers mean instead
    #[arg(long)]
    blocks: bool,
    #[command(flatten)]
    repeat: RepeatOption,
}

/// The tool.
pub struct Bbv {
    options: Options,
}

/// A block: its address and how many bytes it has.
type Block = (u64, u64);
type Numbers = HashMap<Block, u32, BuildHasherDefault<AddressHasher>>;

/// An interval's number, and instructions by block.
type Vector = (u64, BTreeMap<u32, u64>);

/// What a part of the run has executed.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Part {
    /// Blocks by number, from 0.
    blocks: Vec<Block>,
    vectors: Vec<Vector>,
}

/// Blocks whose numbers are noted beside the table, each at a place of its own, until another one wants it.
const PLACES: usize = 1 << 12;

/// What a slice has.
pub struct Local {
    interval: u64,
    /// Instructions since the run's first one, by the blocks that were entered, as far as the buffer was drained.
    entered: u64,
    /// By the engine, which takes back what wasn't executed of a block that is left in its middle.
    executed: u64,
    numbers: Numbers,
    recent: Vec<(Block, u32)>,
    part: Part,
    /// Of the interval that is open: its number, where it ends, and instructions by block.
    open: u64,
    end: u64,
    counts: Vec<u64>,
    /// The number of the last block.
    last: u32,
}

/// Bits of a block's number of instructions, below its bytes.
const LEN_BITS: u32 = 8;

fn executes(local: &mut Local, instructions: u64) {
    local.executed = local.executed.wrapping_add(instructions);
}

impl Local {
    /// A block is entered.
    #[inline]
    fn enter(&mut self, block: Block, instructions: u64) {
        if self.entered >= self.end {
            self.close();
            self.open = self.entered / self.interval;
            self.end = (self.open + 1) * self.interval;
        }
        self.entered += instructions;
        let place = (block.0 ^ block.0 >> 12) as usize % PLACES;
        if self.recent[place].0 != block {
            self.recent[place] = (block, self.number(block));
        }
        self.last = self.recent[place].1;
        self.counts[self.last as usize] += instructions;
    }

    fn number(&mut self, block: Block) -> u32 {
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(block).or_insert(next);
        if number == next {
            self.part.blocks.push(block);
            self.counts.push(0);
        }
        number
    }

    /// The app is between two blocks, or has left the last one in its middle: how much of it was executed is known now.
    fn settle(&mut self) {
        let not_executed = self.entered.saturating_sub(self.executed);
        if let Some(count) = self.counts.get_mut(self.last as usize) {
            *count = count.saturating_sub(not_executed);
        }
        self.entered -= not_executed;
    }

    /// The interval is over.
    fn close(&mut self) {
        let executed = self.counts.iter().enumerate().filter(|(_, count)| **count != 0);
        let vector: BTreeMap<u32, u64> = executed.map(|(number, count)| (number as u32, *count)).collect();
        if !vector.is_empty() {
            self.part.vectors.push((self.open, vector));
        }
        self.counts.fill(0);
    }
}

/// What there is in the end.
#[derive(Default)]
pub struct Total {
    numbers: Numbers,
    part: Part,
}

impl Bbv {
    fn begins(&self, local: &mut Local, prefix: Prefix) {
        local.settle();
        (local.entered, local.executed) = (prefix.instructions, prefix.instructions);
        local.end = 0;
    }

    fn on_signal(&self, local: &mut Local, _: SignalEvent) {
        local.settle();
    }
}

impl Tool for Bbv {
    const NAME: &'static str = "bbv";
    const ABOUT: &'static str = "Write vectors of basic blocks by interval, for SimPoint";
    const PREFIX: Option<OnPrefix<Self>> = Some(Self::begins);
    const ON_SIGNAL: Option<OnSignal<Self>> = Some(Self::on_signal);
    type Options = Options;
    type Local = Local;
    type Result = Part;
    type Total = Total;

    fn new(options: Options) -> Result<Self, String> {
        if options.interval < 1000 {
            return Err("an interval has 1000 instructions at least".into());
        }
        Ok(Self { options })
    }

    fn repeat(&self) -> Repeat {
        self.options.repeat.repeat
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        for block in trace.blocks() {
            block.call(At::Anywhere, executes, (Arg::BlockInstructions,));
            let bytes = block.end_address().0 - block.address().0;
            block.first().buffer((block.address(), bytes << LEN_BITS | block.len() as u64));
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local {
            interval: self.options.interval,
            entered: 0,
            executed: 0,
            numbers: Numbers::default(),
            recent: vec![((0, 0), 0); PLACES],
            part: Part::default(),
            open: 0,
            end: 0,
            counts: Vec::new(),
            last: 0,
        }
    }

    fn drain(&self, local: &mut Local, words: &[u64]) {
        for &[address, shape] in words.as_chunks::<2>().0 {
            local.enter((address, shape >> LEN_BITS), shape & ((1 << LEN_BITS) - 1));
        }
    }

    fn finish(&self, local: &Local) -> Part {
        let mut end = Local {
            numbers: Numbers::default(),
            recent: Vec::new(),
            part: local.part.clone(),
            counts: local.counts.clone(),
            ..*local
        };
        end.settle();
        end.close();
        end.part
    }

    fn fold(&self, total: &mut Total, _: SliceInfo, part: Part) {
        let number = |block: &Block| {
            let next = total.numbers.len() as u32;
            let number = *total.numbers.entry(*block).or_insert(next);
            if number == next {
                total.part.blocks.push(*block);
            }
            number
        };
        let numbers: Vec<u32> = part.blocks.iter().map(number).collect();
        for (interval, vector) in part.vectors {
            if total.part.vectors.last().is_none_or(|(last, _)| *last != interval) {
                total.part.vectors.push((interval, BTreeMap::new()));
            }
            let Some((_, sums)) = total.part.vectors.last_mut() else { continue };
            for (block, instructions) in vector {
                *sums.entry(numbers[block as usize]).or_default() += instructions;
            }
        }
    }

    fn fini(&self, Total { part, .. }: Total, out: &mut Out<'_>) -> std::io::Result<()> {
        if self.options.blocks {
            writeln!(out, "{:>8} {:>18} {:>6} {:>16}  routine", "block", "address", "bytes", "instructions")?;
            for (n, ((address, bytes), instructions)) in part.blocks.iter().zip(part.sums()).enumerate() {
                let routine = out.images().routine_at(AppPc(*address)).map(|routine| routine.demangled());
                let routine = routine.unwrap_or_default();
                writeln!(out, "{:>8} {address:#18x} {bytes:>6} {instructions:>16}  {routine}", n + 1)?;
            }
            return self.options.repeat.say(out);
        }
        out.verbatim();
        for (_, vector) in &part.vectors {
            write!(out, "T")?;
            for (number, instructions) in vector {
                write!(out, ":{}:{instructions} ", number + 1)?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    fn values_with(&self, Total { part, .. }: &Total, images: &Images) -> Option<Value> {
        let block = |((address, bytes), instructions): (&Block, u64)| {
            let routine = images.routine_at(AppPc(*address)).map(|routine| routine.demangled());
            json!({ "address": address, "bytes": bytes, "routine": routine, "instructions": instructions })
        };
        let vector = |(interval, vector): &Vector| {
            let executed: Vec<_> = vector.iter().map(|(number, instructions)| (number + 1, instructions)).collect();
            json!({ "interval": interval, "executed": executed })
        };
        Some(json!({
            "interval": self.options.interval,
            "repetitions": self.options.repeat.repeat.to_string(),
            "blocks": part.blocks.iter().zip(part.sums()).map(block).collect::<Vec<_>>(),
            "vectors": part.vectors.iter().map(vector).collect::<Vec<_>>(),
        }))
    }
}

impl Part {
    /// Instructions by block, of all intervals.
    fn sums(&self) -> Vec<u64> {
        let mut sums = vec![0; self.blocks.len()];
        for (number, instructions) in self.vectors.iter().flat_map(|(_, vector)| vector) {
            sums[*number as usize] += instructions;
        }
        sums
    }
}
