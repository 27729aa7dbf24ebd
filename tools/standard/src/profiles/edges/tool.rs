//! `edges`: how often the app went from where to where: each branch, call and return with its target, and each conditional branch that isn't taken with what is behind it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use superpin_tool::json::{Value, json};
use superpin_tool::merge::Merge;
use superpin_tool::{
    BlockCounts, BranchKind, Code, CodeAddress, CountsBlocks, Images, Out, SliceInfo, Tool, Trace, clap,
};

use super::branches::{Branch, Branches, CountsBranches, Edge, Went, count_branch};

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

    /// Of one that was counted by itself.
    fn of_branch(branch: Branch) -> Self {
        match branch {
            Branch::Taken => Self::Taken,
            Branch::IndirectJump => Self::IndirectJump,
            Branch::IndirectCall => Self::IndirectCall,
            Branch::Return => Self::Return,
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
        went: Went,
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

/// From where to where: [`CodeAddress::to_bits`] of both.
type FromTo = (u64, u64);
/// How often.
type Edges = BTreeMap<(Kind, FromTo), u64>;

/// The tool.
pub struct EdgeProfile {
    options: Options,
}

impl Tool for EdgeProfile {
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
        let by_target = [Branch::IndirectJump, Branch::IndirectCall, Branch::Return];
        trace.blocks().for_each(|block| count_branch(&block.last(), &by_target));
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local { blocks: BlockCounts::new(), branches: Branches::new() }
    }

    fn drain(&self, local: &mut Local, words: &[u64]) {
        local.branches.drain(words);
    }

    fn finish(&self, local: &Local) -> Counts {
        Counts { code: local.blocks.executed(), went: local.branches.counted() }
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
            let [from, to] = [from, to].map(|word| place(out.images(), CodeAddress::from_bits(word)));
            writeln!(out, "{times:>16} {:<13} {from} -> {to}", kind.name())?;
        }
        Ok(())
    }

    fn values_with(&self, total: &Counts, images: &Images) -> Option<Value> {
        let routine = |at| images.routine_at(at).map(|routine| routine.demangled());
        let line = |at| images.line_at(at).filter(|line| line.line != 0).map(|line| (line.file, line.line)).unzip();
        let edge = |((kind, (from, to)), times): ((Kind, FromTo), u64)| {
            let [from, to] = [from, to].map(CodeAddress::from_bits);
            let [(from_file, from_line), (to_file, to_line)]: [(Option<String>, Option<u32>); 2] = [from, to].map(line);
            json!({
                "kind": kind.name(), "from": from.address.0, "to": to.address.0, "from_routine": routine(from), "to_routine": routine(to),
                "from_file": from_file, "from_line": from_line, "to_file": to_file, "to_line": to_line, "count": times,
            })
        };
        let edges = edges(total);
        let kinds: BTreeMap<&str, u64> =
            by_kind(&edges).into_iter().map(|(kind, times)| (kind.name(), times)).collect();
        let edges: Vec<Value> = self.shown(edges).into_iter().map(edge).collect();
        Some(json!({ "kinds": kinds, "edges": edges }))
    }
}

impl EdgeProfile {
    /// Those to be printed, the most frequent first.
    fn shown(&self, edges: Edges) -> Vec<((Kind, FromTo), u64)> {
        let is_asked = |kind| self.options.kind.is_none_or(|asked| kind == asked);
        let mut all: Vec<_> = edges.into_iter().filter(|((kind, _), _)| is_asked(*kind)).collect();
        all.sort_by_key(|&((kind, edge), times)| (Reverse(times), edge, kind));
        all.truncate(if self.options.top == 0 { usize::MAX } else { self.options.top });
        all
    }
}

/// All that the app went along.
fn edges(total: &Counts) -> Edges {
    let mut edges = BTreeMap::new();
    let mut add = |kind: Kind, edge: FromTo, times: u64| {
        if times != 0 {
            *edges.entry((kind, edge)).or_default() += times;
        }
    };
    // Conditional ones by where they are and where they go: what is behind them, and how often they were executed. Code that changes may have had several.
    let mut conditional: BTreeMap<FromTo, (u64, u64)> = BTreeMap::new();
    for instruction in total.code.instructions() {
        let (at, times) = (instruction.code_address(), instruction.executions());
        let Some(kind) = instruction.branch() else { continue };
        // Of an indirect one, by where it goes.
        let Some(to) = instruction.branch_target() else { continue };
        let edge = (at.to_bits(), at.at(to).to_bits());
        if kind == BranchKind::Conditional {
            let next = at.at(instruction.next_address()).to_bits();
            conditional.entry(edge).or_insert((next, 0)).1 += times;
        } else {
            add(Kind::of(kind), edge, times);
        }
    }
    let mut taken: BTreeMap<FromTo, u64> = BTreeMap::new();
    for (Edge { branch, from, to }, times) in &total.went {
        add(Kind::of_branch(*branch), (*from, *to), times.0);
        if *branch == Branch::Taken {
            taken.insert((*from, *to), times.0);
        }
    }
    for ((from, to), (next, times)) in conditional {
        let taken = taken.get(&(from, to)).copied().unwrap_or(0);
        let not_taken = times.checked_sub(taken).expect("a branch is taken no more often than it is executed");
        add(Kind::NotTaken, (from, next), not_taken);
    }
    edges
}

fn by_kind(edges: &Edges) -> BTreeMap<Kind, u64> {
    let mut sums: BTreeMap<Kind, u64> = KINDS.into_iter().map(|kind| (kind, 0)).collect();
    for ((kind, _), times) in edges {
        *sums.entry(*kind).or_default() += times;
    }
    sums
}

/// An address, and what it is called.
fn place(images: &Images, at: CodeAddress) -> String {
    let address = at.address;
    match images.routine_at(at) {
        Some(routine) => {
            let offset = address.0 - routine.address().0;
            let offset = if offset == 0 { String::new() } else { format!("+{offset:#x}") };
            format!("{:#x} {}{offset}", address.0, routine.demangled())
        }
        None => format!("{:#x}", address.0),
    }
}
