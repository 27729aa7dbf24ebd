//! `callgrind`: instructions by routine, line and address (in the image's file), and calls with what they cost, as valgrind's callgrind writes it: for KCachegrind, `callgrind_annotate` and their like.
//!
//! A call costs what is executed from the routine's first instruction until it is left, however that happens ([`CallStack`]). A routine that another one jumps to in place of a call and a return counts
//! as called from where that one was: stubs of libraries don't stand between caller and callee. Who isn't called by a call instruction (a signal's handler) has no caller.

use std::collections::{BTreeMap, HashMap};
use std::io;

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{
    AppPc, At, BlockCounts, BranchKind, CallStack, Code, CodeAddress, CodeInstruction, CountsBlocks, Frame, Gpr, Out,
    Repeat, SliceInfo, ThreadInfo, ThreadPath, Threads, Tool, Trace, memory,
};

use crate::profiles::edges::{Branch, Branches, CountsBranches, Edge, Went, count_branch};
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

/// Where a call returns to, and the routine: [`CodeAddress::to_bits`] of both.
type CallEdge = (u64, u64);
/// Calls, and instructions until they are left.
type Edges = BTreeMap<CallEdge, (Sum, Sum)>;
/// Calls that are over, and those that aren't.
type Calls = (Edges, CallStack<CallEdge>);

/// What a thread has.
pub struct Local {
    blocks: BlockCounts,
    calls: Calls,
    branches: Branches,
    /// The program that is executed: address 0 in it.
    here: u64,
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

/// What a slice has, and the program.
type Part = (Code, Went, Calls, u64);

/// What was executed, and each thread's calls.
#[derive(Default)]
pub struct Total {
    code: Code,
    jumps: Went,
    /// With the program that each has executed last.
    threads: BTreeMap<ThreadPath, (Calls, u64)>,
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
    let edge = (local.here | returns_to, local.here | routine);
    let (edges, stack) = &mut local.calls;
    stack.enter(stack_pointer, edge, left(edges));
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
    fn add(&mut self, thread: ThreadPath, (code, jumps, calls, here): Part) {
        self.code.merge(code);
        Merge::merge(&mut self.jumps, jumps);
        let (before, program) = self.threads.entry(thread).or_default();
        // Another program is in none of the routines of the one before.
        if std::mem::replace(program, here) != here {
            let (edges, stack) = before;
            std::mem::take(stack).end(left(edges));
        }
        append(before, calls);
    }
}

impl Tool for Callgrind {
    const NAME: &'static str = "callgrind";
    const ABOUT: &'static str =
        "Write instructions by routine and line, and calls with what they cost, for KCachegrind";
    type Options = Options;
    type Local = Local;
    type Result = Part;
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
            trace.blocks().for_each(|block| count_branch(&block.last(), &[Branch::IndirectJump]));
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        let here = CodeAddress::here(AppPc(0)).to_bits();
        Local { blocks: BlockCounts::new(), calls: Calls::default(), branches: Branches::new(), here }
    }

    fn drain(&self, local: &mut Local, words: &[u64]) {
        local.branches.drain(words);
    }

    fn finish(&self, local: &Local) -> Part {
        (local.blocks.executed(), local.branches.counted(), local.calls.clone(), local.here)
    }

    fn fold(&self, total: &mut Total, _: SliceInfo, result: Part) {
        total.add(ThreadPath::default(), result);
    }

    fn fold_thread(&self, total: &mut Total, _: SliceInfo, thread: &ThreadInfo, result: Part) {
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
        for ((mut own, stack), _) in threads.into_values() {
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
            for (routine, times, cost) in calls_at(&instruction, &mut calls) {
                let callee = places.of(CodeAddress::from_bits(routine));
                let (of_callee, first) = callee.line();
                writeln!(out, "cob={}\ncfi={of_callee}\ncfn={}", callee.image, callee.routine)?;
                writeln!(out, "calls={times} {:#x} {first}\n{at:#x} {line} {cost}", callee.address)?;
            }
            let made = if self.options.collect_jumps { jumps.of(&instruction) } else { Vec::new() };
            for (target, times) in made {
                let to = places.of(CodeAddress::from_bits(target));
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

/// The calls that an instruction makes. Code that has changed has several at one address: the first of them has them.
fn calls_at(instruction: &CodeInstruction, calls: &mut HashMap<u64, Vec<(u64, u64, u64)>>) -> Vec<(u64, u64, u64)> {
    let back = instruction.code_address().at(instruction.next_address());
    match instruction.branch() {
        Some(BranchKind::Call | BranchKind::IndirectCall) => calls.remove(&back.to_bits()).unwrap_or_default(),
        _ => Vec::new(),
    }
}

/// Where jumps go.
struct JumpsOut {
    taken: BTreeMap<(u64, u64), u64>,
    /// Of those by registers or memory, by their addresses.
    targets: BTreeMap<u64, Vec<(u64, u64)>>,
}

impl JumpsOut {
    fn new(jumps: Went) -> Self {
        let (mut taken, mut targets) = (BTreeMap::new(), BTreeMap::<u64, Vec<(u64, u64)>>::new());
        for (Edge { branch, from, to }, times) in jumps {
            match branch {
                Branch::Taken => drop(taken.insert((from, to), times.0)),
                _ => targets.entry(from).or_default().push((to, times.0)),
            }
        }
        Self { taken, targets }
    }

    /// The targets of an instruction's jumps that were made, and how often.
    fn of(&self, instruction: &CodeInstruction) -> Vec<(u64, u64)> {
        let at = instruction.code_address();
        let direct = instruction.branch_target().map(|target| at.at(target).to_bits());
        let times = match (instruction.branch(), direct) {
            (Some(BranchKind::Conditional), Some(to)) => self.taken.get(&(at.to_bits(), to)).copied().unwrap_or(0),
            (Some(BranchKind::Jump), _) => instruction.executions(),
            (Some(BranchKind::IndirectJump), _) => return self.targets.get(&at.to_bits()).cloned().unwrap_or_default(),
            _ => 0,
        };
        direct.into_iter().map(|to| (to, times)).filter(|(_, times)| *times != 0).collect()
    }
}
