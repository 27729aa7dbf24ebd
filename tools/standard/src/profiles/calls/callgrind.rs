//! `callgrind`: instructions by routine, line and address, and calls with what they cost, as valgrind's callgrind writes it: for KCachegrind, `callgrind_annotate` and their like.
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

/// What a thread has.
#[derive(Default)]
pub struct Local {
    blocks: BlockCounts,
    calls: Calls,
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

impl Tool for Callgrind {
    const NAME: &'static str = "callgrind";
    const ABOUT: &'static str =
        "Write instructions by routine and line, and calls with what they cost, for KCachegrind";
    type Options = Options;
    type Local = Local;
    type Result = (Code, Calls);
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
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::default()
    }

    fn finish(&self, local: &Local) -> (Code, Calls) {
        (local.blocks.executed(), local.calls.clone())
    }

    fn fold(&self, total: &mut Total, _: SliceInfo, (code, calls): (Code, Calls)) {
        total.code.merge(code);
        append(total.threads.entry(ThreadPath::default()).or_default(), calls);
    }

    fn fold_thread(&self, total: &mut Total, _: SliceInfo, thread: &ThreadInfo, (code, calls): (Code, Calls)) {
        total.code.merge(code);
        append(total.threads.entry(thread.path.clone()).or_default(), calls);
    }

    fn fini(&self, Total { code, threads }: Total, out: &mut Out<'_>) -> io::Result<()> {
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
            let place = places.of(instruction.address());
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
            let (at, count) = (instruction.address().0, instruction.executions());
            writeln!(out, "{at:#x} {line} {count}")?;
            for (routine, times, cost) in calls_at(&instruction, &calls) {
                let callee = places.of(AppPc(*routine));
                let (of_callee, first) = callee.line();
                writeln!(out, "cob={}\ncfi={of_callee}\ncfn={}", callee.image, callee.routine)?;
                writeln!(out, "calls={times} {routine:#x} {first}\n{at:#x} {line} {cost}")?;
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
