//! `bbv`: instructions executed in each block, by intervals of the run: vectors of basic blocks, as SimPoint reads them.
//!
//! ```text
//!   T:1:23 :2:7 :9:4970          an interval: block and instructions, for each block that was executed in it
//! ```
//!
//! Blocks are numbered from 1 here.

use superpin_tool::json::{Value, json};
use superpin_tool::{
    CodeAddress, Images, OnPrefix, OnSignal, Out, Prefix, Repeat, SignalEvent, SliceInfo, Tool, Trace, clap,
};

use super::vectors::{Block, Local, Part, Total, Vector, watch};
use crate::repeat::RepeatOption;

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Example: superpin -sp 1 -t bbv --interval 10000000 -o app.bb -- app
and then: simpoint -loadFVFile app.bb -maxK 10 -saveSimpoints app.simpoints -saveSimpointWeights app.weights
The tool simpoints does both.")]
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

impl Bbv {
    fn begins(&self, local: &mut Local, prefix: Prefix) {
        local.begins(prefix);
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
        watch(trace);
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::new(self.options.interval)
    }

    fn drain(&self, local: &mut Local, words: &[u64]) {
        local.drain(words);
    }

    fn finish(&self, local: &Local) -> Part {
        local.part()
    }

    fn fold(&self, total: &mut Total, _: SliceInfo, part: Part) {
        total.fold(part);
    }

    fn fini(&self, Total { part, .. }: Total, out: &mut Out<'_>) -> std::io::Result<()> {
        if self.options.blocks {
            writeln!(out, "{:>8} {:>18} {:>6} {:>16}  routine", "block", "address", "bytes", "instructions")?;
            for (n, ((block, bytes), instructions)) in part.blocks.iter().zip(part.sums()).enumerate() {
                let at = CodeAddress::from_bits(*block);
                let routine = out.images().routine_at(at).map(|routine| routine.demangled());
                let routine = routine.unwrap_or_default();
                writeln!(out, "{:>8} {:#18x} {bytes:>6} {instructions:>16}  {routine}", n + 1, at.address.0)?;
            }
            return self.options.repeat.say(out);
        }
        out.verbatim();
        for vector in &part.vectors {
            write!(out, "T")?;
            for (number, executed) in &vector.blocks {
                write!(out, ":{}:{} ", number + 1, executed.instructions)?;
            }
            writeln!(out)?;
        }
        Ok(())
    }

    fn values_with(&self, Total { part, .. }: &Total, images: &Images) -> Option<Value> {
        let block = |((block, bytes), instructions): (&Block, u64)| {
            let at = CodeAddress::from_bits(*block);
            let routine = images.routine_at(at).map(|routine| routine.demangled());
            json!({ "address": at.address.0, "bytes": bytes, "routine": routine, "instructions": instructions })
        };
        let vector = |vector: &Vector| {
            let executed: Vec<_> = vector.blocks.iter().map(|(number, e)| (number + 1, e.instructions)).collect();
            json!({ "interval": vector.interval, "executed": executed })
        };
        Some(json!({
            "interval_length": self.options.interval,
            "repetitions": self.options.repeat.repeat.to_string(),
            "blocks": part.blocks.iter().zip(part.sums()).map(block).collect::<Vec<_>>(),
            "vectors": part.vectors.iter().map(vector).collect::<Vec<_>>(),
        }))
    }
}
