//! `edges`: how often the app went from where to where: each branch, call and return with its target, and each conditional branch that isn't taken with what is behind it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use superpin_tool::json::{Value, json};
use superpin_tool::merge::Merge;
use superpin_tool::{AppPc, BlockCounts, BranchKind, Code, CountsBlocks, Images, Out, SliceInfo, Tool, Trace, clap};

use super::branches::{Branches, CountsBranches, Edge, Indirect, Taken, count_branch};

/// Options.
#[derive(clap::Args)]
#[command(
    after_help = "Example, the ten calls that are made most often: superpin -sp 1 -t edges --kind call --top 10 -- ls"
)]
pub struct Options {
    /// How many edges to print, the most frequent first; 0: all
    #[arg(long, default_value_t = 20)]
    top: usize,
    /// Of which kind, if not of all
    #[arg(long)]
    kind: Option<Kind>,
}

/// Why the app goes there.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// A conditional branch that is taken
    Taken,
    /// One that isn't
    NotTaken,
    /// A jump
    Jump,
    /// A jump to an address from a register or memory
    IndirectJump,
    /// A call
    Call,
    /// A call of an address from a register or memory
    IndirectCall,
    /// A return
    Return,
}

const KINDS: [Kind; 7] =
    [Kind::Taken, Kind::NotTaken, Kind::Jump, Kind::IndirectJump, Kind::Call, Kind::IndirectCall, Kind::Return];

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Taken => "taken",
            Self::NotTaken => "not taken",
            Self::Jump => "jump",
            Self::IndirectJump => "indirect jump",
            Self::Call => "call",
            Self::IndirectCall => "indirect call",
            Self::Return => "return",
        }
    }

    /// Of a branch that is taken.
    fn of(branch: BranchKind) -> Self {
        match branch {
            BranchKind::Conditional => Self::Taken,
            BranchKind::Jump => Self::Jump,
            BranchKind::IndirectJump => Self::IndirectJump,
            BranchKind::Call => Self::Call,
            BranchKind::IndirectCall => Self::IndirectCall,
            BranchKind::Return => Self::Return,
        }
    }
}

superpin_tool::areas! {
    /// What is counted. How often direct branches, and conditional ones that aren't taken, go where they do follows from how often code was executed.
    pub struct Counts {
        code: Code,
        taken: Taken,
        indirect: Indirect,
    }
}

/// What a slice has.
pub struct Local {
    blocks: BlockCounts,
    branches: Branches,
}

impl CountsBlocks for Local {
    fn block_counts(&self) -> &BlockCounts {
        &self.blocks
    }
}

impl CountsBranches for Local {
    fn branches(&mut self) -> &mut Branches {
        &mut self.branches
    }
}

/// The tool.
pub struct Edges {
    options: Options,
}

impl Tool for Edges {
    const NAME: &'static str = "edges";
    const ABOUT: &'static str = "Count from where to where branches, calls and returns go";
    type Options = Options;
    type Local = Local;
    type Result = Counts;
    type Total = Counts;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        trace.count_blocks();
        let by_target = [BranchKind::IndirectJump, BranchKind::IndirectCall, BranchKind::Return];
        trace.blocks().for_each(|block| count_branch(&block.last(), &by_target));
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local { blocks: BlockCounts::new(), branches: Branches::new() }
    }

    fn drain(&self, local: &mut Local, words: &[u64]) {
        local.branches.drain(words);
    }

    fn finish(&self, local: &Local) -> Counts {
        let (taken, indirect) = local.branches.counted();
        Counts { code: local.blocks.executed(), taken, indirect }
    }

    fn fold(&self, total: &mut Counts, _: SliceInfo, counts: Counts) {
        total.merge(counts);
    }

    fn fini(&self, total: Counts, out: &mut Out<'_>) -> std::io::Result<()> {
        let edges = edges(&total);
        writeln!(out, "Total Count: {}", out.total(edges.values().sum()))?;
        for (kind, times) in by_kind(&edges) {
            writeln!(out, "{times:>16} {}", kind.name())?;
        }
        for ((kind, (from, to)), times) in self.shown(edges) {
            let (from, to) = (place(out.images(), AppPc(from)), place(out.images(), AppPc(to)));
            writeln!(out, "{times:>16} {:<13} {from} -> {to}", kind.name())?;
        }
        Ok(())
    }

    fn values_with(&self, total: &Counts, images: &Images) -> Option<Value> {
        let routine = |address| images.routine_at(AppPc(address)).map(|routine| routine.demangled());
        let line = |address| images.line_at(AppPc(address)).filter(|line| line.line != 0).map(|line| line.to_string());
        let edge = |((kind, (from, to)), times): ((Kind, Edge), u64)| {
            json!({
                "kind": kind.name(), "from": from, "to": to, "from_routine": routine(from), "to_routine": routine(to),
                "from_line": line(from), "to_line": line(to), "count": times,
            })
        };
        let edges = edges(total);
        let kinds: BTreeMap<&str, u64> =
            by_kind(&edges).into_iter().map(|(kind, times)| (kind.name(), times)).collect();
        let edges: Vec<Value> = self.shown(edges).into_iter().map(edge).collect();
        Some(json!({ "kinds": kinds, "edges": edges }))
    }
}

impl Edges {
    /// Those to be printed, the most frequent first.
    fn shown(&self, edges: BTreeMap<(Kind, Edge), u64>) -> Vec<((Kind, Edge), u64)> {
        let is_asked = |kind| self.options.kind.is_none_or(|asked| kind == asked);
        let mut all: Vec<_> = edges.into_iter().filter(|((kind, _), _)| is_asked(*kind)).collect();
        all.sort_by_key(|&((kind, edge), times)| (Reverse(times), edge, kind));
        all.truncate(if self.options.top == 0 { usize::MAX } else { self.options.top });
        all
    }
}

/// All that the app went along.
fn edges(total: &Counts) -> BTreeMap<(Kind, Edge), u64> {
    let mut edges = BTreeMap::new();
    let mut add = |kind: Kind, edge: Edge, times: u64| {
        if times != 0 {
            *edges.entry((kind, edge)).or_default() += times;
        }
    };
    for instruction in total.code.instructions() {
        let (from, times) = (instruction.address().0, instruction.executions());
        let Some(kind) = instruction.branch() else { continue };
        let Some(AppPc(to)) = instruction.branch_target() else {
            // Of an indirect one, by where it goes.
            continue;
        };
        if kind == BranchKind::Conditional {
            let taken = total.taken.get(&from).map_or(0, |taken| taken.0).min(times);
            add(Kind::NotTaken, (from, instruction.next_address().0), times - taken);
            add(Kind::Taken, (from, to), taken);
        } else {
            add(Kind::of(kind), (from, to), times);
        }
    }
    let kinds: HashMap<u64, Kind> = total
        .code
        .instructions()
        .filter_map(|instruction| Some((instruction.address().0, Kind::of(instruction.branch()?))))
        .collect();
    for ((from, to), times) in &total.indirect {
        add(kinds.get(from).copied().unwrap_or(Kind::IndirectJump), (*from, *to), times.0);
    }
    edges
}

fn by_kind(edges: &BTreeMap<(Kind, Edge), u64>) -> BTreeMap<Kind, u64> {
    let mut sums: BTreeMap<Kind, u64> = KINDS.into_iter().map(|kind| (kind, 0)).collect();
    for ((kind, _), times) in edges {
        *sums.entry(*kind).or_default() += times;
    }
    sums
}

/// An address, and what it is called.
fn place(images: &Images, address: AppPc) -> String {
    match images.routine_at(address) {
        Some(routine) => {
            let offset = address.0 - routine.address().0;
            let offset = if offset == 0 { String::new() } else { format!("+{offset:#x}") };
            format!("{:#x} {}{offset}", address.0, routine.demangled())
        }
        None => format!("{:#x}", address.0),
    }
}
