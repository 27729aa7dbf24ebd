//! `allcache`: the instruction and data TLBs and the caches of a processor, in three levels.

use superpin_tool::json::{Value, json};
use superpin_tool::models::CacheShape;
use superpin_tool::{Arg, At, Out, Repeat, SliceInfo, Tool, Trace, clap};

use super::seen::{ByKind, Seen as SeenBy, Totals};
use super::shapes::{Lower, Shapes, Sizes, Tlb};
use super::words::{self, FETCH, KINDS, LOAD, STORE};
use crate::repeat;

type Seen = SeenBy<Totals>;

/// Options.
#[derive(clap::Args, Clone, Debug)]
#[command(after_help = "Example, without a last cache: superpin -sp 1 -t allcache --l2 512K,8,64 --llc none -- ls
cache has the same by routine, line or instruction")]
pub struct Options {
    /// TLB for instructions, of pages of 4 KB
    #[arg(long, value_name = "ENTRIES,WAYS", default_value = "128,8")]
    itlb: Tlb,
    /// TLB for data
    #[arg(long, value_name = "ENTRIES,WAYS", default_value = "64,4")]
    dtlb: Tlb,
    /// First cache for instructions
    #[arg(long, value_name = "SIZE,WAYS,LINE", default_value = "32K,8,64")]
    l1i: CacheShape,
    /// First cache for data
    #[arg(long, value_name = "SIZE,WAYS,LINE", default_value = "32K,8,64")]
    l1d: CacheShape,
    /// Second cache, for what these two miss; or none
    #[arg(long, value_name = "SIZE,WAYS,LINE", default_value = "1M,16,64")]
    l2: Lower,
    /// Last cache; or none
    #[arg(long, value_name = "SIZE,WAYS,LINE", default_value = "8M,16,64")]
    llc: Lower,
    /// Whether a string instruction that repeats (REP) accesses memory with each repetition, or is followed in its first one only
    #[arg(long, value_enum, default_value_t = Repeat::Each)]
    repeat: Repeat,
}

/// Simulates TLBs and caches, all with LRU replacement.
///
/// An instruction is fetched by one access, and each operand in memory is one, which is a load if it is loaded from at all; who reaches into a second line or page accesses it, too. What several levels do
/// besides (prefetching, write-backs, victim and inclusive caches) isn't simulated. Prefetch instructions do nothing.
pub struct AllCache {
    shapes: Shapes,
    repeat: Repeat,
}

fn executed(seen: &mut Seen, instructions: u64) {
    seen.executed(instructions);
}

impl Tool for AllCache {
    const NAME: &'static str = "allcache";
    const ABOUT: &'static str = "Simulate TLBs and caches of several levels, with LRU replacement";
    type Options = Options;
    type Local = Seen;
    type Result = Seen;
    type Total = Seen;

    fn new(options: Options) -> Result<Self, String> {
        let Options { itlb, dtlb, l1i, l1d, l2, llc, repeat } = options;
        Ok(Self { shapes: Sizes { itlb, dtlb, l1i, l1d, l2, llc }.shapes()?, repeat })
    }

    fn repeat(&self) -> Repeat {
        self.repeat
    }

    fn instrument(&self, trace: &Trace<'_, Seen>) {
        for block in trace.blocks() {
            block.call(At::Anywhere, executed, (Arg::BlockInstructions,));
            words::instrument(&block, self.shapes.fetched, |_, _| 0);
        }
    }

    fn begin(&self, slice: SliceInfo) -> Seen {
        Seen::begin(&self.shapes, slice)
    }

    fn drain(&self, seen: &mut Seen, words: &[u64]) {
        seen.take(words);
    }

    fn finish(&self, seen: &Seen) -> Seen {
        seen.clone()
    }

    fn fold(&self, total: &mut Seen, _: SliceInfo, part: Seen) {
        total.append(part);
    }

    fn warmed_up(&self, total: &mut Seen) {
        total.end_warm_up();
    }

    fn fini(&self, mut total: Seen, out: &mut Out<'_>) -> std::io::Result<()> {
        total.end();
        for row in self.rows(&total) {
            let percent = 100.0 * row.misses as f64 / row.accesses.max(1) as f64;
            let what = format!("{} {}", row.cache, KINDS[row.kind]);
            writeln!(out, "{what:<12} {:>16} {:>14} misses {percent:>7.3} %", row.accesses, row.misses)?;
        }
        repeat::say(self.repeat, out)?;
        let lines = |kinds: &ByKind| kinds.iter().map(|count| count.0).sum::<u64>();
        // A number that depends on all others.
        let all = total.misses.caches.iter().map(lines).sum::<u64>() + lines(&total.misses.tlbs);
        writeln!(out, "Misses: {}", out.total(all))
    }

    fn values(&self, total: &Seen) -> Option<Value> {
        let mut total = total.clone();
        total.end();
        let row = |row: Row| json!({ "cache": row.cache, "kind": KINDS[row.kind], "accesses": row.accesses, "misses": row.misses });
        let caches: Vec<Value> = self.rows(&total).into_iter().map(row).collect();
        Some(json!({ "caches": caches, "repetitions": self.repeat.to_string() }))
    }
}

/// One cache and one kind of accesses.
struct Row {
    cache: &'static str,
    kind: usize,
    accesses: u64,
    misses: u64,
}

impl AllCache {
    fn rows(&self, seen: &Seen) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut push = |cache, kind: usize, accesses: &ByKind, misses: &ByKind| {
            rows.push(Row { cache, kind, accesses: accesses[kind].0, misses: misses[kind].0 });
        };
        let caches = &seen.misses.caches;
        push("ITLB", FETCH, &seen.accesses, &seen.misses.tlbs);
        [LOAD, STORE].into_iter().for_each(|kind| push("DTLB", kind, &seen.tlb_accesses, &seen.misses.tlbs));
        push("L1I", FETCH, &seen.accesses, &caches[0]);
        [LOAD, STORE].into_iter().for_each(|kind| push("L1D", kind, &seen.accesses, &caches[0]));
        for (lower, levels) in self.shapes.lower.iter().zip(caches.windows(2)) {
            (0..KINDS.len()).for_each(|kind| push(lower.name, kind, &levels[0], &levels[1]));
        }
        rows
    }
}
