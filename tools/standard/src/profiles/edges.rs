//! `edges`: how often the app went from where to where: each branch, call and return with its target, and each conditional branch that isn't taken with what is behind it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::hash::BuildHasherDefault;

use superpin_tool::json::{Value, json};
use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{
    AddressHasher, AppPc, Arg, At, BlockCounts, BranchKind, Code, CountsBlocks, Images, Out, SliceInfo, Tool, Trace,
    clap,
};

use super::log::Log;

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

/// A branch's address, and where it goes.
type Edge = (u64, u64);
/// Edges that were counted one by one: those of indirect branches.
type Indirect = HashMap<Edge, Sum, BuildHasherDefault<AddressHasher>>;
/// How often a conditional branch was taken, by its address.
type Taken = HashMap<u64, Sum, BuildHasherDefault<AddressHasher>>;

superpin_tool::areas! {
    /// What is counted. How often direct branches, and conditional ones that aren't taken, go where they do follows from how often code was executed.
    pub struct Counts {
        code: Code,
        taken: Taken,
        indirect: Indirect,
    }
}

/// Counts beside the tables, each at a place of its own, until another one wants it.
const PLACES: usize = 1 << 12;

/// What a slice has.
pub struct Local {
    blocks: BlockCounts,
    log: Log<2>,
    recently_taken: Vec<(u64, u64)>,
    taken: Taken,
    indirect: Indirect,
}

impl CountsBlocks for Local {
    fn block_counts(&self) -> &BlockCounts {
        &self.blocks
    }
}

fn goes(local: &mut Local, from: u64, to: u64) {
    local.log.push([from, to]);
}

fn is_full(local: &mut Local) -> bool {
    local.log.is_full()
}

fn count(local: &mut Local) {
    for &[from, to] in local.log.entries() {
        local.indirect.entry((from, to)).or_default().0 += 1;
    }
    local.log.clear();
}

fn is_taken(local: &mut Local, branch: u64) {
    local.taken.entry(branch).or_default().0 += 1;
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
        for last in trace.blocks().map(|block| block.last()) {
            match last.branch() {
                // Whether `loop` and `jrcxz` are taken can't be a word of the buffer.
                Some(BranchKind::Conditional)
                    if last.mnemonic().starts_with("loop") || last.mnemonic().contains("cx") =>
                {
                    last.call(At::Taken, is_taken, (last.address(),));
                }
                Some(BranchKind::Conditional) => last.buffer((Arg::Pc, Arg::BranchTaken)),
                Some(BranchKind::IndirectJump | BranchKind::IndirectCall | BranchKind::Return) => {
                    last.call_if(At::Before, is_full, (), count, ());
                    last.call(At::Taken, goes, (last.address(), Arg::BranchTarget));
                }
                Some(BranchKind::Jump | BranchKind::Call) | None => {}
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local {
            blocks: BlockCounts::new(),
            log: Log::new(),
            recently_taken: vec![Default::default(); PLACES],
            taken: Taken::default(),
            indirect: Indirect::default(),
        }
    }

    fn drain(&self, local: &mut Local, words: &[u64]) {
        for &[branch, _] in words.as_chunks::<2>().0.iter().filter(|[_, taken]| *taken != 0) {
            let (of, times) = &mut local.recently_taken[(branch ^ branch >> 12) as usize % PLACES];
            if *of != branch {
                if *times != 0 {
                    local.taken.entry(*of).or_default().0 += *times;
                }
                (*of, *times) = (branch, 0);
            }
            *times += 1;
        }
    }

    fn finish(&self, local: &Local) -> Counts {
        let (mut taken, mut indirect) = (local.taken.clone(), local.indirect.clone());
        for (branch, times) in local.recently_taken.iter().filter(|(_, times)| *times != 0) {
            taken.entry(*branch).or_default().0 += times;
        }
        for &[from, to] in local.log.entries() {
            indirect.entry((from, to)).or_default().0 += 1;
        }
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
        let edge = |((kind, (from, to)), times): ((Kind, Edge), u64)| {
            let routines = (routine(from), routine(to));
            json!({ "kind": kind.name(), "from": from, "to": to, "from_routine": routines.0, "to_routine": routines.1, "count": times })
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
