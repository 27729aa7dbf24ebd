//! `callgrind`: instructions by routine, line and address (in the image's file), and calls with what they cost, as valgrind's callgrind writes it: for KCachegrind, `callgrind_annotate` and their like.
//!
//! A call costs what is executed from the routine's first instruction until it is left, however that happens ([`CallStack`]). A routine that another one jumps to in place of a call and a return counts
//! as called from where that one was: stubs of libraries don't stand between caller and callee. Who isn't called by a call instruction (a signal's handler) has no caller.

use std::collections::{BTreeMap, HashMap};
use std::io;

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{
    AppPc, At, BlockCounts, BranchKind, CallStack, Code, CodeInstruction, CountsBlocks, Frame, Gpr, Out, Repeat,
    SliceInfo, ThreadInfo, ThreadPath, Threads, Tool, Trace, memory,
};

use crate::profiles::edges::{Branches, CountsBranches, Indirect, Taken, count_branch};
use crate::profiles::places::Places;
use crate::repeat::RepeatOption;

/// Options.
#[derive(clap::Args)]
#[command(
    after_help = "Example: superpin -sp 1 -t callgrind -o callgrind.out.app -- ./app; callgrind_annotate callgrind.out.app"
)]
pub struct Options {
    #[command(flatten)]
    repeat: RepeatOption,
    /// Tell of jumps inside of routines, too: how often each is made, and of conditional ones how often they could have been
    #[arg(long)]
    collect_jumps: bool,
    /// Only of this thread, by its path: the first is 0, those that it starts are 0.1, 0.2, and so on
    #[arg(long, value_name = "PATH")]
    thread: Option<String>,
}

/// The tool.
pub struct Callgrind {
    options: Options,
}

/// Where a call returns to, and the routine.
type CallEdge = (u64, u64);
/// Calls, and instructions until they are left.
type Edges = BTreeMap<CallEdge, (Sum, Sum)>;
/// Calls that are over, and those that aren't.
type Calls = (Edges, CallStack<CallEdge>);

/// Conditional branches that were taken, and jumps by registers or memory.
type Jumps = (Taken, Indirect);

/// What a thread has.
pub struct Local {
    blocks: BlockCounts,
    calls: Calls,
    branches: Branches,
}

impl CountsBranches for Local {
    fn branches(&mut self) -> &mut Branches {
        &mut self.branches
    }
}

impl CountsBlocks for Local {
    fn block_counts(&self) -> &BlockCounts {
        &self.blocks
    }
}

/// What was executed, and each thread's calls.
#[derive(Default)]
pub struct Total {
    code: Code,
    jumps: Jumps,
    threads: BTreeMap<ThreadPath, Calls>,
}

fn left(edges: &mut Edges) -> impl FnMut(Frame<CallEdge>, u64) + '_ {
    |frame, now| {
        let (calls, cost) = edges.entry(frame.data).or_default();
        calls.0 += 1;
        cost.0 = cost.0.wrapping_add(now.wrapping_sub(frame.entered));
    }
}

fn enters(local: &mut Local, stack_pointer: u64, routine: u64) {
    let returns_to = memory::read_word(stack_pointer).unwrap_or(0);
    let (edges, stack) = &mut local.calls;
    stack.enter(stack_pointer, (returns_to, routine), left(edges));
}

fn returns(local: &mut Local, stack_pointer: u64) {
    let (edges, stack) = &mut local.calls;
    stack.leave(stack_pointer, left(edges));
}

fn executes(local: &mut Local) {
    local.calls.1.advance(1);
}

fn append((edges, stack): &mut Calls, (slice, part): Calls) {
    Merge::merge(edges, slice);
    stack.append(part, left(edges));
}

impl Total {
    fn add(&mut self, thread: ThreadPath, (code, jumps, calls): (Code, Jumps, Calls)) {
        self.code.merge(code);
        self.jumps.merge(jumps);
        append(self.threads.entry(thread).or_default(), calls);
    }
}

impl Tool for Callgrind {
    const NAME: &'static str = "callgrind";
    const ABOUT: &'static str =
        "Write instructions by routine and line, and calls with what they cost, for KCachegrind";
    type Options = Options;
    type Local = Local;
    type Result = (Code, Jumps, Calls);
    type Total = Total;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn repeat(&self) -> Repeat {
        self.options.repeat.repeat
    }

    fn threads(&self) -> Threads {
        Threads::Each
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        trace.count_blocks();
        for instruction in trace.instructions() {
            if let Some(routine) = instruction.enters() {
                instruction.call(At::Before, enters, (Gpr::Rsp, routine.address()));
            }
            instruction.call(At::Before, executes, ());
            if instruction.branch() == Some(BranchKind::Return) {
                instruction.call(At::Before, returns, (Gpr::Rsp,));
            }
        }
        if self.options.collect_jumps {
            trace.blocks().for_each(|block| count_branch(&block.last(), &[BranchKind::IndirectJump]));
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local { blocks: BlockCounts::new(), calls: Calls::default(), branches: Branches::new() }
    }

    fn drain(&self, local: &mut Local, words: &[u64]) {
        local.branches.drain(words);
    }

    fn finish(&self, local: &Local) -> Self::Result {
        (local.blocks.executed(), local.branches.counted(), local.calls.clone())
    }

    fn fold(&self, total: &mut Total, _: SliceInfo, result: Self::Result) {
        total.add(ThreadPath::default(), result);
    }

    fn fold_thread(&self, total: &mut Total, _: SliceInfo, thread: &ThreadInfo, result: Self::Result) {
        if self.options.thread.as_ref().is_none_or(|asked| *asked == thread.path.to_string()) {
            total.add(thread.path.clone(), result);
        }
    }

    fn fini(&self, Total { code, jumps, threads }: Total, out: &mut Out<'_>) -> io::Result<()> {
        if let Some(asked) = self.options.thread.as_ref().filter(|_| threads.is_empty()) {
            return Err(io::Error::other(format!("the app had no thread {asked} (icount2 --threads 1 lists them)")));
        }
        out.verbatim();
        let mut edges = Edges::new();
        for (mut own, stack) in threads.into_values() {
            stack.end(left(&mut own));
            Merge::merge(&mut edges, own);
        }
        // By where they return to.
        let mut calls: HashMap<u64, Vec<(u64, u64, u64)>> = HashMap::new();
        for ((returns_to, routine), (times, cost)) in edges {
            calls.entry(returns_to).or_default().push((routine, times.0, cost.0));
        }
        let jumps = JumpsOut::new(jumps);
        writeln!(out, "# callgrind format\nversion: 1\ncreator: superpin {}", env!("CARGO_PKG_VERSION"))?;
        if let Some(main) = out.images().all().iter().find(|image| image.is_main()) {
            writeln!(out, "cmd: {}", main.path().display())?;
        }
        write!(out, "desc: ")?;
        self.options.repeat.say(out)?;
        writeln!(out, "positions: instr line\nevents: Ir\nsummary: {}\n", code.total())?;
        let images = out.images();
        let mut places = Places::new(images);
        let (mut written, mut of_file) = (None, String::new());
        for instruction in code.instructions() {
            let place = places.of(instruction.code_address());
            let (file, line) = place.line();
            let function = (place.image.clone(), place.routine.clone());
            if written.as_ref() != Some(&function) {
                writeln!(out, "\nob={}\nfl={file}\nfn={}", place.image, place.routine)?;
                (written, of_file) = (Some(function), file.to_owned());
            }
            if of_file != file {
                writeln!(out, "fi={file}")?;
                of_file = file.to_owned();
            }
            let (at, count) = (place.address, instruction.executions());
            writeln!(out, "{at:#x} {line} {count}")?;
            for (routine, times, cost) in calls_at(&instruction, &calls) {
                let callee = places.of(instruction.code_address().at(AppPc(*routine)));
                let (of_callee, first) = callee.line();
                writeln!(out, "cob={}\ncfi={of_callee}\ncfn={}", callee.image, callee.routine)?;
                writeln!(out, "calls={times} {:#x} {first}\n{at:#x} {line} {cost}", callee.address)?;
            }
            for (target, times) in jumps.of(&instruction).filter(|_| self.options.collect_jumps) {
                let to = places.of(instruction.code_address().at(AppPc(target)));
                // Who goes into another routine calls it.
                if (&to.image, &to.routine) != (&place.image, &place.routine) {
                    continue;
                }
                let (of_target, first) = to.line();
                if of_target != file {
                    writeln!(out, "jfi={of_target}")?;
                }
                let jump = match instruction.branch() {
                    Some(BranchKind::Conditional) => format!("jcnd={times}/{count}"),
                    _ => format!("jump={times}"),
                };
                writeln!(out, "{jump} {:#x} {first}\n{at:#x} {line}", to.address)?;
            }
        }
        Ok(())
    }
}

/// The calls that an instruction makes.
fn calls_at<'a>(
    instruction: &CodeInstruction,
    calls: &'a HashMap<u64, Vec<(u64, u64, u64)>>,
) -> impl Iterator<Item = &'a (u64, u64, u64)> {
    let is_call = matches!(instruction.branch(), Some(BranchKind::Call | BranchKind::IndirectCall));
    calls.get(&instruction.next_address().0).filter(|_| is_call).into_iter().flatten()
}

/// Where jumps go.
struct JumpsOut {
    taken: Taken,
    /// Of those by registers or memory, by their addresses.
    targets: BTreeMap<u64, BTreeMap<u64, u64>>,
}

impl JumpsOut {
    fn new((taken, indirect): Jumps) -> Self {
        let mut targets: BTreeMap<u64, BTreeMap<u64, u64>> = BTreeMap::new();
        for ((from, to), times) in indirect {
            targets.entry(from).or_default().insert(to, times.0);
        }
        Self { taken, targets }
    }

    /// The targets of an instruction's jumps that were made, and how often.
    fn of(&self, instruction: &CodeInstruction) -> impl Iterator<Item = (u64, u64)> {
        let at = instruction.address().0;
        let times = match instruction.branch() {
            Some(BranchKind::Conditional) => self.taken.get(&at).map_or(0, |taken| taken.0),
            Some(BranchKind::Jump) => instruction.executions(),
            _ => 0,
        };
        let direct = instruction.branch_target().map(|target| (target.0, times)).filter(|_| times != 0);
        let indirect = self.targets.get(&at).into_iter().flatten().map(|(to, times)| (*to, *times));
        direct.into_iter().chain(indirect)
    }
}
