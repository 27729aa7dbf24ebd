//! `reuse`: how many other lines of memory were accessed since a line was accessed last, of all data accesses: so many lines a cache with LRU replacement must have for a hit.

use superpin_tool::json::{Value, json};
use superpin_tool::merge::{Merge, Sum};
use superpin_tool::serde::{Deserialize, Serialize};
use superpin_tool::{Out, Repeat, SliceInfo, Tool, Trace, clap};

use super::stack::{Part, Stack};
use crate::accesses::{self, Access};
use crate::repeat;

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Example, by pages: superpin -sp 1 -t reuse --line 4096 -- ls")]
pub struct Options {
    /// Bytes of a line, a power of two
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    line: u64,
    /// Whether a string instruction that repeats (REP) accesses memory with each repetition, or is followed in its first one only
    #[arg(long, value_enum, default_value_t = Repeat::Each)]
    repeat: Repeat,
}

/// Ranges of distances: 0, 1, 2 to 3, 4 to 7 and so on; the last one has all above.
const RANGES: usize = 32;

/// How many accesses had a distance.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Distances {
    by_range: [Sum; RANGES],
    /// Accesses to what wasn't accessed before.
    first: Sum,
}

impl Distances {
    fn add(&mut self, distance: Option<u64>) {
        match distance {
            Some(distance) => self.by_range[range_of(distance)].0 += 1,
            None => self.first.0 += 1,
        }
    }

    fn accesses(&self) -> u64 {
        self.by_range.iter().map(|count| count.0).sum::<u64>() + self.first.0
    }

    /// Ranges that there is something in or above, with the least distance and the count.
    fn ranges(&self) -> impl Iterator<Item = (u64, u64)> {
        let used = self.by_range.iter().rposition(|count| count.0 != 0).map_or(0, |last| last + 1);
        let least = |range: usize| if range == 0 { 0 } else { 1 << (range - 1) };
        self.by_range[..used].iter().enumerate().map(move |(range, count)| (least(range), count.0))
    }
}

fn range_of(distance: u64) -> usize {
    ((64 - distance.leading_zeros()) as usize).min(RANGES - 1)
}

/// What a slice has.
#[derive(Default)]
pub struct Local {
    stack: Stack,
    first: Vec<u64>,
    distances: Distances,
}

/// What there is in the end.
#[derive(Default)]
pub struct Total {
    stack: Stack,
    distances: Distances,
}

/// The tool.
pub struct Reuse {
    line_bits: u32,
    repeat: Repeat,
}

impl Tool for Reuse {
    const NAME: &'static str = "reuse";
    const ABOUT: &'static str = "Count reuse distances of data accesses";
    /// Each access takes some steps in a tree of as many lines as the app has touched.
    const PATIENCE: u32 = 10;
    type Options = Options;
    type Local = Local;
    type Result = (Part, Distances);
    type Total = Total;

    fn new(options: Options) -> Result<Self, String> {
        if !options.line.is_power_of_two() {
            return Err("a line's size is a power of two".into());
        }
        Ok(Self { line_bits: options.line.trailing_zeros(), repeat: options.repeat })
    }

    fn repeat(&self) -> Repeat {
        self.repeat
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        trace.instructions().for_each(|instruction| accesses::buffer(&instruction));
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::default()
    }

    fn drain(&self, local: &mut Local, words: &[u64]) {
        for Access { address, size, .. } in accesses::of(words) {
            for line in address >> self.line_bits..=address.saturating_add(size - 1) >> self.line_bits {
                match local.stack.touch(line) {
                    None => local.first.push(line),
                    known => local.distances.add(known),
                }
            }
        }
    }

    fn finish(&self, local: &Local) -> Self::Result {
        (Part { first: local.first.clone(), last: local.stack.lines() }, local.distances.clone())
    }

    fn fold(&self, total: &mut Total, _: SliceInfo, (part, distances): Self::Result) {
        total.distances.by_range.merge(distances.by_range);
        total.stack.append(part, |distance| total.distances.add(distance));
    }

    fn warmed_up(&self, total: &mut Total) {
        total.distances = Distances::default();
    }

    fn fini(&self, total: Total, out: &mut Out<'_>) -> std::io::Result<()> {
        let all = total.distances.accesses();
        let percent = |count: u64| 100.0 * count as f64 / all.max(1) as f64;
        writeln!(out, "Accesses: {}", out.total(all))?;
        writeln!(out, "{:>12} {:>16} {:>8} {:>9}", "distance", "accesses", "%", "up to, %")?;
        let mut sum = 0;
        for (least, count) in total.distances.ranges() {
            sum += count;
            writeln!(out, "{least:>12} {count:>16} {:>8.3} {:>9.3}", percent(count), percent(sum))?;
        }
        let first = total.distances.first.0;
        writeln!(out, "{:>12} {first:>16} {:>8.3}", "first", percent(first))?;
        repeat::say(self.repeat, out)?;
        Ok(())
    }

    fn values(&self, total: &Total) -> Option<Value> {
        let range = |(least, count): (u64, u64)| json!({ "distance": least, "accesses": count });
        let ranges: Vec<Value> = total.distances.ranges().map(range).collect();
        Some(json!({
            "accesses": total.distances.accesses(), "line_bytes": 1u64 << self.line_bits,
            "distances": ranges, "first": total.distances.first.0, "repetitions": self.repeat.to_string(),
        }))
    }
}
