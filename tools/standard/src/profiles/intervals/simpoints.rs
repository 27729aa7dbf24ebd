//! `simpoints`: intervals of the run that stand for the whole, with their weights, and how to come to them: vectors of basic blocks, clustered as SimPoint 3.2 clusters them.

use std::collections::HashSet;
use std::io;

use superpin_tool::json::{Value, json};
use superpin_tool::merge::Merge;
use superpin_tool::serde::{Deserialize, Serialize};
use superpin_tool::{
    AppPc, Code, CodeAddress, Images, OnPrefix, OnSignal, Out, Prefix, SignalEvent, SliceInfo, Tool, Trace, clap,
};

use super::clustering::{self, Settings};
use super::vectors::{self, Local, watch};

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Example: superpin -sp 1 -t simpoints --interval 10000000 -- app
and then, for each line of it, another tool on that interval: superpin -sp 1 -start-icount START -trace LENGTH -t dcache -- app
or, where instructions before it may differ from run to run: -start-address ADDRESS:N -trace LENGTH")]
pub struct Options {
    /// Instructions of an interval
    #[arg(long, value_name = "INSTRUCTIONS", default_value_t = 100_000_000)]
    interval: u64,
    /// What to print
    #[arg(long, value_enum, default_value_t = Print::Table)]
    print: Print,
    #[command(flatten)]
    settings: Settings,
}

/// What is printed.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Print {
    /// All that is known of each
    Table,
    /// SimPoint's `.simpoints`: interval and cluster
    Simpoints,
    /// SimPoint's `.weights`: weight and cluster
    Weights,
}

/// The tool.
pub struct SimPoints {
    options: Options,
}

/// What a part of the run has executed.
#[derive(Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Part {
    vectors: vectors::Part,
    code: Code,
}

/// All of it.
#[derive(Default)]
pub struct Total {
    vectors: vectors::Total,
    code: Code,
}

/// An interval that stands for others.
struct Point {
    cluster: usize,
    interval: u64,
    weight: f64,
    /// Instructions of the run before it.
    start: u64,
    length: u64,
    address: CodeAddress,
    /// With which execution of the instruction there it begins, if that is known.
    execution: Option<u64>,
}

/// The one by which a vector begins: with which execution of its first instruction. An instruction may be in several blocks. Not known where some of those were left in their middle.
fn first_execution(total: &Total, vector: usize) -> Option<u64> {
    let part = &total.vectors.part;
    let (first, _) = part.blocks[part.vectors[vector].first as usize];
    // In whichever program: `-start-address` doesn't tell them apart.
    let address = CodeAddress::from_bits(first).address.0;
    let holds = |block: &superpin_tool::CodeBlock<'_>| {
        block.address().0 <= address
            && address < block.end_address().0
            && block.instructions().any(|instruction| instruction.address().0 == address)
    };
    let blocks = total.code.blocks().filter(holds);
    let with: HashSet<(u64, u64)> =
        blocks.map(|block| (block.code_address().to_bits(), block.bytes().len() as u64)).collect();
    let executions = |vector: &vectors::Vector| {
        let entries = vector.blocks.iter().filter(|(number, _)| with.contains(&part.blocks[**number as usize]));
        entries.map(|(_, executed)| executed.entries).sum::<u64>()
    };
    let (before, behind) = part.vectors.split_at(vector);
    let before: u64 = before.iter().map(executions).sum();
    let all = before + behind.iter().map(executions).sum::<u64>();
    (all == total.code.at(AppPc(address))).then_some(before + 1)
}

impl SimPoints {
    fn points(&self, total: &Total) -> Vec<Point> {
        let part = &total.vectors.part;
        let vectors: Vec<Vec<(u32, u64)>> = part
            .vectors
            .iter()
            .map(|vector| vector.blocks.iter().map(|(number, executed)| (*number, executed.instructions)).collect())
            .collect();
        let chosen = clustering::choose(&vectors, part.blocks.len(), &self.options.settings);
        let point = |chosen: clustering::Point| {
            let vector = &part.vectors[chosen.vector];
            Point {
                cluster: chosen.cluster,
                interval: vector.interval,
                weight: chosen.weight,
                start: vector.start,
                length: vector.instructions(),
                address: CodeAddress::from_bits(part.blocks[vector.first as usize].0),
                execution: first_execution(total, chosen.vector),
            }
        };
        chosen.into_iter().map(point).collect()
    }

    fn begins(&self, local: &mut Local, prefix: Prefix) {
        local.begins(prefix);
    }

    fn on_signal(&self, local: &mut Local, _: SignalEvent) {
        local.settle();
    }
}

/// Where it begins, as `-start-address` takes it.
fn place(point: &Point) -> String {
    match point.execution {
        Some(execution) => format!("{:#x}:{execution}", point.address.address.0),
        None => format!("{:#x}:?", point.address.address.0),
    }
}

fn routine(images: &Images, address: CodeAddress) -> String {
    images.routine_at(address).map_or_else(String::new, |routine| routine.demangled())
}

impl Tool for SimPoints {
    const NAME: &'static str = "simpoints";
    const ABOUT: &'static str = "Choose intervals that stand for the whole run, as SimPoint does";
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
        options.settings.check()?;
        Ok(Self { options })
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        watch(trace);
        trace.count_blocks();
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::new(self.options.interval)
    }

    fn drain(&self, local: &mut Local, words: &[u64]) {
        local.drain(words);
    }

    fn finish(&self, local: &Local) -> Part {
        Part { vectors: local.part(), code: local.code.executed() }
    }

    fn fold(&self, total: &mut Total, _: SliceInfo, part: Part) {
        total.vectors.fold(part.vectors);
        total.code.merge(part.code);
    }

    fn fini(&self, total: Total, out: &mut Out<'_>) -> io::Result<()> {
        let points = self.points(&total);
        match self.options.print {
            Print::Table => {}
            Print::Simpoints => {
                out.verbatim();
                return points.iter().try_for_each(|point| writeln!(out, "{} {}", point.interval, point.cluster));
            }
            Print::Weights => {
                out.verbatim();
                return points.iter().try_for_each(|point| writeln!(out, "{:.6} {}", point.weight, point.cluster));
            }
        }
        let part = &total.vectors.part;
        writeln!(out, "Total Count: {}", out.total(total.code.total()))?;
        writeln!(out, "Intervals: {}", part.vectors.len())?;
        writeln!(out, "Blocks: {}", part.blocks.len())?;
        writeln!(
            out,
            "{:>7} {:>10} {:>9} {:>16} {:>12} {:>28}  in",
            "cluster", "interval", "weight", "start", "length", "at"
        )?;
        for point in points {
            let text = format!(
                "{:>7} {:>10} {:>9.6} {:>16} {:>12} {:>28}  {}",
                point.cluster,
                point.interval,
                point.weight,
                point.start,
                point.length,
                place(&point),
                routine(out.images(), point.address)
            );
            writeln!(out, "{}", text.trim_end())?;
        }
        Ok(())
    }

    fn values_with(&self, total: &Total, images: &Images) -> Option<Value> {
        let row = |point: Point| {
            json!({
                "cluster": point.cluster, "interval": point.interval, "weight": point.weight,
                "start": point.start, "length": point.length, "address": point.address.address.0,
                "execution": point.execution,
                "routine": images.routine_at(point.address).map(|routine| routine.demangled()),
            })
        };
        Some(json!({
            "instructions": total.code.total(),
            "interval_length": self.options.interval,
            "intervals": total.vectors.part.vectors.len(),
            "blocks": total.vectors.part.blocks.len(),
            "points": self.points(total).into_iter().map(row).collect::<Vec<_>>(),
        }))
    }
}
