//! `branches`: how often branches, calls and returns of each kind are executed, and how often conditional ones are taken.

use superpin_tool::json::{Value, json};
use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{At, BranchKind, Instruction, Out, SliceInfo, ThreadInfo, Threads, Tool, Trace};

use crate::threads::{self, ByThread, ThreadsOption};

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Example: superpin -sp 1 -t branches -- ls")]
pub struct Options {
    #[command(flatten)]
    threads: ThreadsOption,
}

/// The tool.
pub struct Branches {
    threads: ThreadsOption,
}

/// Branches of all threads by kind, and how many of each thread, where that is asked for.
#[derive(Default)]
pub struct Total {
    kinds: [Sum; KINDS.len()],
    threads: ByThread,
}

/// Kinds of branches, in the order in which they are counted and printed: `true` means taken.
const KINDS: [(&str, bool); 9] = [
    ("conditional, forward", true),
    ("conditional, forward", false),
    ("conditional, backward", true),
    ("conditional, backward", false),
    ("jump", true),
    ("indirect jump", true),
    ("call", true),
    ("indirect call", true),
    ("return", true),
];

/// How often each was executed. A power of two: a remainder by it is a mask, and what counts is short enough to be put in place.
pub type Counts = [u64; KINDS.len().next_power_of_two()];

fn count(counts: &mut Counts, kind: u64) {
    let kind = kind as usize % counts.len();
    counts[kind] = counts[kind].wrapping_add(1);
}

/// Index in [`KINDS`] of a branch that is taken.
fn kind(instruction: &Instruction<'_, Counts>) -> Option<usize> {
    Some(match instruction.branch()? {
        BranchKind::Conditional => {
            let backward = instruction.branch_target().is_some_and(|target| target <= instruction.address());
            if backward { 2 } else { 0 }
        }
        BranchKind::Jump => 4,
        BranchKind::IndirectJump => 5,
        BranchKind::Call => 6,
        BranchKind::IndirectCall => 7,
        BranchKind::Return => 8,
    })
}

fn sum(counts: &[Sum]) -> u64 {
    counts.iter().map(|count| count.0).sum()
}

fn is_conditional(name: &str) -> bool {
    name.starts_with("conditional")
}

impl Tool for Branches {
    const NAME: &'static str = "branches";
    const ABOUT: &'static str = "Count branches, calls and returns by kind, taken and not taken";
    type Options = Options;
    type Local = Counts;
    type Result = [Sum; KINDS.len()];
    type Total = Total;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { threads: options.threads })
    }

    fn threads(&self) -> Threads {
        self.threads.threads()
    }

    fn instrument(&self, trace: &Trace<'_, Counts>) {
        for block in trace.blocks() {
            let last = block.last();
            let Some(kind) = kind(&last) else { continue };
            last.call(At::Taken, count, (kind,));
            if last.has_after() {
                last.call(At::After, count, (kind + 1,));
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Counts {
        Counts::default()
    }

    fn finish(&self, counts: &Counts) -> Self::Result {
        std::array::from_fn(|kind| Sum(counts[kind]))
    }

    fn fold(&self, total: &mut Total, _: SliceInfo, counts: Self::Result) {
        total.kinds.merge(counts);
    }

    fn fold_thread(&self, total: &mut Total, slice: SliceInfo, thread: &ThreadInfo, counts: Self::Result) {
        *total.threads.entry(thread.path.clone()).or_default() += sum(&counts);
        self.fold(total, slice, counts);
    }

    fn fini(&self, total: Total, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "Total Count: {}", out.total(sum(&total.kinds)))?;
        for ((name, taken), count) in KINDS.into_iter().zip(total.kinds) {
            let conditional = is_conditional(name);
            let how = if !conditional {
                ""
            } else if taken {
                ", taken"
            } else {
                ", not taken"
            };
            writeln!(out, "{:>16} {name}{how}", count.0)?;
        }
        threads::print(&total.threads, out)
    }

    fn values(&self, total: &Total) -> Option<Value> {
        let kinds = KINDS.into_iter().zip(total.kinds).map(|((name, taken), count)| {
            let taken = is_conditional(name).then_some(taken);
            json!({ "kind": name, "taken": taken, "count": count.0 })
        });
        let mut values = json!({ "branches": sum(&total.kinds), "kinds": kinds.collect::<Vec<_>>() });
        let each = total.threads.iter().map(|(path, count)| (path.clone(), json!({ "branches": count })));
        threads::add_to(&mut values, self.threads, each);
        Some(values)
    }
}
