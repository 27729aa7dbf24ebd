//! What is instrumented, and what is printed.

use superpin_tool::json::{Value, json};
use superpin_tool::{Arg, At, Block, MemoryOperand, Out, Property, Repeat, SliceInfo, Tool, Trace};

use super::options::{Options, Shapes};
use super::seen::{ByKind, FETCH, KINDS, LOAD, STORE, Seen, access, element, masked};
use crate::repeat;

/// Simulates TLBs and caches, all with LRU replacement.
///
/// An instruction is fetched by one access, and each operand in memory is one, which is a load if it is loaded from at all; who reaches into a second line or page accesses it, too. What several levels do
/// besides (prefetching, write-backs, victim and inclusive caches) isn't simulated. Prefetch instructions do nothing.
pub struct AllCache {
    shapes: Shapes,
    repeat: Repeat,
}

fn executed(seen: &mut Seen, instructions: u64) {
    let fetches = &mut seen.accesses[FETCH as usize].0;
    *fetches = fetches.wrapping_add(instructions);
}

impl AllCache {
    /// Fetches by the first instruction of a line, after another line in this block: of what follows in that line nothing else was fetched since.
    fn instrument_block(&self, block: &Block<'_, Seen>) {
        let line_bits = self.shapes.fetched.trailing_zeros();
        let mut last = None;
        for instruction in block.instructions() {
            let (first, end) = (instruction.address().0, instruction.next_address().0 - 1);
            let lines = (first >> line_bits, end >> line_bits);
            if last != Some(lines.0) || lines.0 != lines.1 {
                instruction.buffer((Arg::Pc, access(FETCH, end - first + 1)));
            }
            last = Some(lines.1);
            if instruction.is(Property::Prefetch) {
                continue;
            }
            for (n, operand) in instruction.memory_operands().iter().enumerate() {
                let kind = kind(operand);
                let elements = instruction.elements(n);
                if elements == 1 && !operand.inexact {
                    instruction.buffer((Arg::MemoryAddress(n), access(kind, operand.size.max(1).into())));
                    continue;
                }
                if let Some((register, bytes)) = instruction.opmask(n) {
                    let shape = elements as u64 | u64::from(bytes) << 8;
                    instruction.buffer((Arg::MemoryAddress(n), masked(kind), Arg::Mask(register), shape));
                    continue;
                }
                for element_number in 0..elements {
                    let address = Arg::ElementAddress { operand: n, element: element_number };
                    let size = Arg::ElementSize { operand: n, element: element_number };
                    instruction.buffer((address, element(kind), size));
                }
            }
        }
    }
}

fn kind(operand: &MemoryOperand) -> u64 {
    if operand.read { LOAD } else { STORE }
}

impl Tool for AllCache {
    const NAME: &'static str = "allcache";
    const ABOUT: &'static str = "Simulate TLBs and caches of several levels, with LRU replacement";
    type Options = Options;
    type Local = Seen;
    type Result = Seen;
    type Total = Seen;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { shapes: options.shapes()?, repeat: options.repeat })
    }

    fn repeat(&self) -> Repeat {
        self.repeat
    }

    fn instrument(&self, trace: &Trace<'_, Seen>) {
        for block in trace.blocks() {
            block.call(At::Anywhere, executed, (Arg::BlockInstructions,));
            self.instrument_block(&block);
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
        let all = total.misses.iter().map(lines).sum::<u64>() + lines(&total.tlb_misses);
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
        let fetch = FETCH as usize;
        push("ITLB", fetch, &seen.accesses, &seen.tlb_misses);
        [LOAD, STORE].into_iter().for_each(|kind| push("DTLB", kind as usize, &seen.tlb_accesses, &seen.tlb_misses));
        push("L1I", fetch, &seen.accesses, &seen.misses[0]);
        [LOAD, STORE].into_iter().for_each(|kind| push("L1D", kind as usize, &seen.accesses, &seen.misses[0]));
        for (lower, levels) in self.shapes.lower.iter().zip(seen.misses.windows(2)) {
            (0..KINDS.len()).for_each(|kind| push(lower.name, kind, &levels[0], &levels[1]));
        }
        rows
    }
}
