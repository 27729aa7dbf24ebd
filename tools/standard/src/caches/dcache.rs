//! `dcache`: accesses and misses of a data cache with one line for each set.
//!
//! An access that reaches into a second line counts twice. A slice can't know what the cache holds
//! when it begins. So it notes for each set the line that it used first, and the last one: whether the first was a miss
//! is known when the slices are put together.

use superpin_tool::json::{Value, json};
use superpin_tool::{Out, Repeat, SliceInfo, Tool, Trace};

use crate::accesses::{self, Access};
use crate::repeat::RepeatOption;

/// The tool.
pub struct DCache {
    /// Bits of an address that tell a place in a line.
    line_bits: u32,
    sets: usize,
    repeat: RepeatOption,
}

/// The cache's shape.
#[derive(clap::Args)]
#[command(after_help = "Example, of 64 KB: superpin -sp 1 -t dcache --size 65536 -- ls")]
pub struct Shape {
    /// Bytes of the cache, a power of two
    #[arg(long, value_name = "BYTES", default_value_t = 32 << 10)]
    size: u64,
    /// Bytes of a line, a power of two
    #[arg(long, value_name = "BYTES", default_value_t = 64)]
    line: u64,
    #[command(flatten)]
    repeat: RepeatOption,
}

/// A line's number, plus 1; 0 if there was none yet.
type Line = u64;

/// What a part of the execution did to the cache.
pub struct Cache {
    accesses: u64,
    /// Those that are known to be misses, whatever the cache held before.
    misses: u64,
    /// For each set the first and the last line.
    sets: Vec<(Line, Line)>,
}

impl Cache {
    fn new(sets: usize) -> Self {
        Self { accesses: 0, misses: 0, sets: vec![(0, 0); sets] }
    }

    fn access(&mut self, line: Line) {
        self.accesses += 1;
        let mask = self.sets.len() as u64 - 1;
        let (first, last) = &mut self.sets[(line & mask) as usize];
        if *last == line {
            return;
        }
        if *last == 0 {
            *first = line;
        } else {
            self.misses += 1;
        }
        *last = line;
    }

    /// Adds what the next part of the execution did.
    fn extend(&mut self, (accesses, misses, sets): (u64, u64, Vec<(Line, Line)>)) {
        self.accesses += accesses;
        self.misses += misses;
        self.sets.resize(sets.len(), (0, 0));
        for (old, next) in self.sets.iter_mut().zip(sets).filter(|(_, next)| next.0 != 0) {
            self.misses += u64::from(old.1 != next.0);
            *old = next;
        }
    }
}

impl Default for Cache {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Tool for DCache {
    const NAME: &'static str = "dcache";
    const ABOUT: &'static str = "Simulate a direct-mapped data cache";
    type Options = Shape;
    type Local = Cache;
    type Result = (u64, u64, Vec<(Line, Line)>);
    type Total = Cache;

    fn new(shape: Shape) -> Result<Self, String> {
        if !shape.line.is_power_of_two() || !shape.size.is_power_of_two() || shape.size < shape.line {
            return Err("sizes of cache and line are powers of two, the cache's not the smaller one".into());
        }
        let sets = shape.size / shape.line;
        if sets > 1 << 24 {
            return Err("a cache has at most 16777216 lines".into());
        }
        Ok(Self { line_bits: shape.line.trailing_zeros(), sets: sets as usize, repeat: shape.repeat })
    }

    fn repeat(&self) -> Repeat {
        self.repeat.repeat
    }

    fn instrument(&self, trace: &Trace<'_, Cache>) {
        trace.instructions().for_each(|instruction| accesses::buffer(&instruction));
    }

    fn begin(&self, _: SliceInfo) -> Cache {
        Cache::new(self.sets)
    }

    fn drain(&self, cache: &mut Cache, words: &[u64]) {
        for Access { address, size, .. } in accesses::of(words) {
            let (first, last) = (address >> self.line_bits, address.wrapping_add(size - 1) >> self.line_bits);
            cache.access(first + 1);
            if last != first {
                cache.access(last + 1);
            }
        }
    }

    fn finish(&self, cache: &Cache) -> Self::Result {
        (cache.accesses, cache.misses, cache.sets.clone())
    }

    fn fold(&self, total: &mut Cache, _: SliceInfo, part: Self::Result) {
        total.extend(part);
    }

    fn warmed_up(&self, total: &mut Cache) {
        (total.accesses, total.misses) = (0, 0);
    }

    fn fini(&self, total: Cache, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "Accesses: {}", out.total(total.accesses))?;
        let percent = 100.0 * total.misses as f64 / total.accesses.max(1) as f64;
        writeln!(out, "Misses: {} ({percent:.2} %)", out.total(total.misses))?;
        self.repeat.say(out)
    }

    fn values(&self, total: &Cache) -> Option<Value> {
        let repetitions = self.repeat.repeat.to_string();
        Some(json!({ "accesses": total.accesses, "misses": total.misses, "repetitions": repetitions }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Line numbers for four sets: 1 and 5 share one.
    const LINES: [u64; 9] = [1, 5, 1, 1, 2, 2, 1, 5, 3];

    fn part(lines: &[u64]) -> (u64, u64, Vec<(Line, Line)>) {
        let mut cache = Cache::new(4);
        lines.iter().for_each(|&line| cache.access(line));
        (cache.accesses, cache.misses, cache.sets)
    }

    #[test]
    fn misses_are_the_same_wherever_the_run_is_cut() {
        for cut in 0..=LINES.len() {
            let mut total = Cache::default();
            total.extend(part(&LINES[..cut]));
            total.extend(part(&LINES[cut..]));
            // By hand: 1, 5, 1, then 2, then 5 and 3.
            assert_eq!((total.accesses, total.misses), (9, 6), "cut at {cut}");
        }
    }
}
