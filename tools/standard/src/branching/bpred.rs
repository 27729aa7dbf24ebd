//! `bpred`: how often a branch predictor is wrong: for conditional branches by two-bit counters or TAGE, for indirect jumps and calls by where they went the last time.
//!
//! Returns aren't predicted: what processors have for them is nearly always right.

use std::collections::BTreeMap;

use superpin_tool::json::{Value, json};
use superpin_tool::merge::{Merge, Sum};
use superpin_tool::models::{Before, LastTable};
use superpin_tool::serde::{Deserialize, Serialize};
use superpin_tool::{AppPc, Arg, At, BranchKind, CodeAddress, Images, Out, SliceInfo, Tool, Trace};

use super::conditional::{Conditional, Shape};

/// The predictors' shape.
#[derive(clap::Args)]
#[command(
    after_help = "Example, TAGE, and the five branches that it mispredicts most often: superpin -sp 1 -t bpred --conditional tage --top 5 -- ls"
)]
pub struct Options {
    /// For conditional branches: bimodal,BITS, gshare,BITS,HISTORY or gselect,BITS,HISTORY, of 2^BITS counters; or tage, or
    /// tage,BASE,TABLES,BITS,TAG,SHORTEST,LONGEST, of 2^BASE counters and tables of 2^BITS entries with TAG bits of tag, for
    /// histories from SHORTEST to LONGEST: tage,12,7,9,11,5,130, which is 64 Kbit
    #[arg(long, value_name = "KIND", default_value = "gshare,14,12")]
    conditional: Shape,
    /// For indirect jumps and calls: entries of the table of last targets, a power of two
    #[arg(long, value_name = "ENTRIES", default_value_t = 512)]
    indirect: usize,
    /// How many branches to list, those first that are mispredicted most often; 0: none
    #[arg(long, default_value_t = 10)]
    top: usize,
}

/// The tool.
pub struct BranchPredictor {
    options: Options,
}

/// What a part of the execution did.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Seen {
    predictor: Conditional,
    /// Whether `loop` and `jrcxz` were taken that stand in the buffer, in order.
    #[serde(skip)]
    by_count: std::collections::VecDeque<bool>,
    conditional: Sum,
    /// The program that is executed: address 0 in it.
    here: u64,
    /// Mispredictions by the branch's address in its program.
    wrong: BTreeMap<u64, Sum>,
    targets: LastTable,
    /// The table's places less one.
    last_place: u64,
    indirect: Sum,
    indirect_wrong: Sum,
}

/// In the buffer in place of whether a branch is taken: a routine has noted it.
const BY_COUNT: u64 = 2;

fn branches_by_count(seen: &mut Seen, taken: u64) {
    seen.by_count.push_back(taken != 0);
}

/// No address has it set by itself: so a target is never 0, which is none, also where a program goes to address 0.
const NOT_NONE: u64 = 1 << 62;

fn goes(seen: &mut Seen, branch: u64, target: u64) {
    seen.indirect.0 += 1;
    if seen.targets.replace((branch & seen.last_place) as usize, target ^ NOT_NONE) == Before::Other {
        seen.indirect_wrong.0 += 1;
    }
}

fn count(wrong: &mut BTreeMap<u64, Sum>, here: u64) -> impl FnMut(u64, u64) + '_ {
    move |branch, times| wrong.entry(here | branch).or_default().0 += times
}

impl Seen {
    fn append(&mut self, next: Self) {
        self.conditional.merge(next.conditional);
        Merge::merge(&mut self.wrong, next.wrong);
        // What becomes known now, of branches that came first in their part, is that part's.
        self.predictor.append(next.predictor, count(&mut self.wrong, next.here));
        self.here = if self.here == 0 { next.here } else { self.here };
        self.indirect.merge(next.indirect);
        self.indirect_wrong.merge(next.indirect_wrong);
        let wrong = &mut self.indirect_wrong.0;
        self.targets.append(next.targets, |_, before| *wrong += u64::from(before == Before::Other));
    }

    fn end_warm_up(&mut self) {
        self.predictor.end_warm_up();
        self.targets.end_warm_up();
        let (predictor, targets) = (std::mem::take(&mut self.predictor), std::mem::take(&mut self.targets));
        *self = Self { predictor, targets, ..Self::default() };
    }

    fn end(&mut self) {
        std::mem::take(&mut self.predictor).end(count(&mut self.wrong, self.here));
        let wrong = &mut self.indirect_wrong.0;
        std::mem::take(&mut self.targets).end(|_, _| *wrong += 1);
    }

    fn conditional_wrong(&self) -> u64 {
        self.wrong.values().map(|times| times.0).sum()
    }

    /// Branches, those that are mispredicted most often first.
    fn worst(&self, count: usize) -> Vec<(CodeAddress, u64)> {
        let branch = |(branch, times): (&u64, &Sum)| (CodeAddress::from_bits(*branch), times.0);
        let mut all: Vec<(CodeAddress, u64)> = self.wrong.iter().map(branch).collect();
        all.sort_by_key(|(branch, times)| (std::cmp::Reverse(*times), *branch));
        all.truncate(count);
        all
    }
}

impl Tool for BranchPredictor {
    const NAME: &'static str = "bpred";
    const ABOUT: &'static str = "Simulate branch predictors: bimodal, gshare, gselect or TAGE, and last targets";
    type Options = Options;
    type Local = Seen;
    type Result = Seen;
    type Total = Seen;

    fn new(options: Options) -> Result<Self, String> {
        if !options.indirect.is_power_of_two() || options.indirect > 1 << 20 {
            return Err("--indirect is a power of two, 1048576 at most".into());
        }
        Ok(Self { options })
    }

    fn instrument(&self, trace: &Trace<'_, Seen>) {
        for branch in trace.blocks().map(|block| block.last()) {
            match branch.branch() {
                Some(BranchKind::Conditional)
                    if branch.mnemonic().starts_with("loop") || branch.mnemonic().contains("cx") =>
                {
                    branch.buffer((Arg::Pc, BY_COUNT));
                    branch.call(At::Before, branches_by_count, (Arg::BranchTaken,));
                }
                Some(BranchKind::Conditional) => branch.buffer((Arg::Pc, Arg::BranchTaken)),
                Some(BranchKind::IndirectJump | BranchKind::IndirectCall) => {
                    branch.call(At::Taken, goes, (Arg::Pc, Arg::BranchTarget));
                }
                _ => {}
            }
        }
    }

    fn begin(&self, slice: SliceInfo) -> Seen {
        Seen {
            predictor: Conditional::begin(self.options.conditional, slice),
            targets: LastTable::begin(self.options.indirect, slice),
            last_place: self.options.indirect as u64 - 1,
            here: CodeAddress::here(AppPc(0)).to_bits(),
            ..Seen::default()
        }
    }

    fn drain(&self, seen: &mut Seen, words: &[u64]) {
        let branches = words.as_chunks::<2>().0;
        seen.conditional.0 += branches.len() as u64;
        let by_count = &mut seen.by_count;
        let branches = branches.iter().map(|&[branch, taken]| match taken {
            BY_COUNT => (branch, by_count.pop_front() == Some(true)),
            taken => (branch, taken != 0),
        });
        seen.predictor.branches(branches, count(&mut seen.wrong, seen.here));
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
        let kinds = [
            ("conditional", total.conditional.0, total.conditional_wrong()),
            ("indirect", total.indirect.0, total.indirect_wrong.0),
        ];
        for (kind, branches, wrong) in kinds {
            let percent = 100.0 * wrong as f64 / branches.max(1) as f64;
            writeln!(out, "{branches:>16} {kind} branches, {wrong} mispredicted ({percent:.2} %)")?;
        }
        for (branch, times) in total.worst(self.options.top) {
            let name = out.images().routine_at(branch).map(|routine| routine.demangled()).unwrap_or_default();
            let line = out.images().line_at(branch).map(|line| line.to_string()).unwrap_or_default();
            writeln!(out, "{times:>16} {:#x} {name} {line}", branch.address.0)?;
        }
        writeln!(out, "Misses: {}", out.total(total.conditional_wrong() + total.indirect_wrong.0))
    }

    fn values_with(&self, total: &Seen, images: &Images) -> Option<Value> {
        let mut total = total.clone();
        total.end();
        let worst = total.worst(self.options.top).into_iter().map(|(branch, times)| {
            let routine = images.routine_at(branch).map(|routine| routine.demangled().to_string());
            json!({ "address": branch.address.0, "routine": routine, "mispredicted": times })
        });
        Some(json!({
            "predictor": self.options.conditional.to_string(),
            "conditional": { "branches": total.conditional.0, "mispredicted": total.conditional_wrong() },
            "indirect": { "branches": total.indirect.0, "mispredicted": total.indirect_wrong.0 },
            "worst": worst.collect::<Vec<_>>(),
        }))
    }
}
