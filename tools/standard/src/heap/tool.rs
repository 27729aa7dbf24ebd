//! The tool.

use std::io;

use superpin_tool::json::Value;
use superpin_tool::models::Heap;
use superpin_tool::{
    AppPc, Arg, At, BranchKind, CallStack, CodeAddress, FirstPass, Images, Instruction, OnFirstPass, Out, Prefix,
    SliceInfo, Tool, Trace, clap, memory,
};

use super::calls::Calls;
use super::growth::Growth;
use super::massif;
use super::part::Part;
use super::profile::{self, By, Profile};
use super::routines::{Call, PLACE, entered, may_be_left};
use super::stacks::Callers;

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Examples, what isn't freed in the end: superpin -sp 1 -t heap --by live --top 5 -- ls\n  \
    and what there is over time: superpin -sp 1 -t heap --massif -o massif.out.ls -- ls; ms_print massif.out.ls")]
pub struct Options {
    /// Callers that are told apart; with 1 calls and returns of other routines aren't looked at, which is much faster
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u64).range(1..=64))]
    depth: u64,
    /// How many stacks to print; 0: all
    #[arg(long, default_value_t = 10)]
    top: usize,
    /// In which order
    #[arg(long, value_enum, default_value_t = By::Allocated)]
    by: By,
    /// Write a file as valgrind's massif does, for ms_print and its like: bytes over time, and stacks of what there is at the peak and in the end
    #[arg(long, conflicts_with_all = ["by", "top"])]
    massif: bool,
}

/// The tool.
pub struct HeapProfile {
    options: Options,
}

/// What a slice has.
#[derive(Default)]
pub struct Local {
    calls: Calls,
    /// Instructions of the run so far, if that is asked for.
    executed: u64,
    part: Part,
    /// The thread that is executed, and its stack; those of the others are in the part.
    thread: u64,
    stack: CallStack<u64>,
    /// The program that is executed: address 0 in it.
    here: u64,
}

impl Local {
    #[cold]
    #[inline(never)]
    fn turns_to(&mut self, thread: u64) {
        let next = self.part.stacks.remove(&thread).unwrap_or_default();
        let last = std::mem::replace(&mut self.stack, next);
        self.part.stacks.insert(self.thread, last);
        self.thread = thread;
    }
}

fn executes(local: &mut Local, instructions: u64) {
    local.executed = local.executed.wrapping_add(instructions);
}

/// A call instruction, that is to return to `back`. What is here and in [`leaves`] is executed at each call, so it is kept short.
fn enters(local: &mut Local, thread: u64, stack_pointer: u64, back: u64) {
    if thread != local.thread {
        local.turns_to(thread);
    }
    local.stack.enter(stack_pointer.wrapping_sub(8), local.here | back, |_, _| {});
}

fn leaves(local: &mut Local, thread: u64, place: u64) {
    if thread != local.thread {
        local.turns_to(thread);
    }
    local.stack.leave(place, |_, _| {});
}

fn calls(calls: &mut Calls, thread: u64, place: u64, number: u64, a: u64, b: u64, c: u64) {
    calls.enter(thread, place, Call::new(number, a, b, c));
}

fn may_end(calls: &mut Calls, thread: u64, place: u64) -> bool {
    calls.may_end(thread, place)
}

fn ends(calls: &mut Calls, thread: u64, place: u64) {
    calls.leave(thread, place);
}

fn allocating_enters(local: &mut Local, thread: u64, place: u64, number: u64, a: u64, b: u64, c: u64) {
    let call = Call::new(number, a, b, c);
    // What such a routine does by others of them is its own.
    if local.calls.enter(thread, place, call) {
        local.part.free(call.frees_at_once(), local.executed);
    }
}

fn may_leave(local: &mut Local, thread: u64, place: u64) -> bool {
    local.calls.may_end(thread, place)
}

fn allocating_leaves(local: &mut Local, thread: u64, place: u64, result: u64, depth: u64) {
    let Some(call) = local.calls.leave(thread, place) else { return };
    let (freed, allocated) = call.returns(result);
    local.part.free(freed, local.executed);
    if allocated == 0 {
        return;
    }
    let callers = match depth {
        1 => Callers::only(CodeAddress::here(AppPc(memory::read_word(place).unwrap_or(0))).to_bits()),
        _ => {
            if thread != local.thread {
                local.turns_to(thread);
            }
            Callers::of(&local.stack, thread, depth as usize)
        }
    };
    local.part.allocate(allocated, call.size(), callers, local.executed);
}

impl HeapProfile {
    fn counts(&self, instruction: &Instruction<'_, Calls>) {
        if let Some(number) = entered(instruction) {
            let [a, b, c] = [0, 1, 2].map(Arg::Argument);
            instruction.call(At::Before, calls, (Arg::ThreadId, PLACE, number, a, b, c));
        }
        if may_be_left(instruction) {
            let args = (Arg::ThreadId, PLACE);
            instruction.call_if(At::Before, may_end, args, ends, args);
        }
    }

    fn watch(&self, instruction: &Instruction<'_, Local>) {
        if self.options.depth > 1 && instruction.is_call() {
            let back = instruction.next_address();
            instruction.call(At::Before, enters, (Arg::ThreadId, PLACE, back));
        }
        if let Some(number) = entered(instruction) {
            let [a, b, c] = [0, 1, 2].map(Arg::Argument);
            instruction.call(At::Before, allocating_enters, (Arg::ThreadId, PLACE, number, a, b, c));
        }
        if may_be_left(instruction) {
            let args = (Arg::ThreadId, PLACE, Arg::ReturnValue, self.options.depth);
            instruction.call_if(At::Before, may_leave, (Arg::ThreadId, PLACE), allocating_leaves, args);
        }
        if self.options.depth > 1 && instruction.branch() == Some(BranchKind::Return) {
            instruction.call(At::Before, leaves, (Arg::ThreadId, PLACE));
        }
    }

    fn begins(&self, local: &mut Local, prefix: Prefix, before: &Calls) {
        local.calls = before.clone();
        if self.options.massif {
            local.part.begins(local.executed, prefix.instructions);
            local.executed = prefix.instructions;
        }
    }
}

impl Tool for HeapProfile {
    const NAME: &'static str = "heap";
    const ABOUT: &'static str = "Tell what is allocated and freed, by whom, and what is left in the end";
    const FIRST_PASS: Option<OnFirstPass<Self>> = Some(&FirstPass { counts: Self::counts, begins: Self::begins });
    type Options = Options;
    type Local = Local;
    type Result = Part;
    type Total = Part;

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { options })
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        for block in trace.blocks() {
            // Where the time is asked for in the middle of a block it is counted by instructions.
            let is_timed =
                self.options.massif && block.instructions().any(|i| entered(&i).is_some() || may_be_left(&i));
            if self.options.massif && !is_timed {
                block.call(At::Anywhere, executes, (Arg::BlockInstructions,));
            }
            for instruction in block.instructions() {
                if is_timed {
                    instruction.call(At::Before, executes, (1u64,));
                }
                self.watch(&instruction);
            }
        }
    }

    fn begin(&self, slice: SliceInfo) -> Local {
        let growth = self.options.massif.then(Growth::default);
        let here = CodeAddress::here(AppPc(0)).to_bits();
        Local { part: Part { heap: Heap::begin(slice), growth, ..Part::default() }, here, ..Local::default() }
    }

    fn finish(&self, local: &Local) -> Part {
        let mut part = local.part.clone();
        part.stacks.insert(local.thread, local.stack.clone());
        part.ends(local.executed);
        part
    }

    fn fold(&self, total: &mut Part, _: SliceInfo, part: Part) {
        total.append(part, self.options.depth as usize);
    }

    fn fini(&self, total: Part, out: &mut Out<'_>) -> io::Result<()> {
        if self.options.massif {
            return massif::write(&profile::snapshots(&total), &total.numbers.addresses(), out);
        }
        Profile::of(&total, self.options.by, self.options.top).write(out)
    }

    fn values_with(&self, total: &Part, images: &Images) -> Option<Value> {
        let mut values = Profile::of(total, self.options.by, self.options.top).values(images);
        if self.options.massif {
            values["snapshots"] = profile::snapshots(total).iter().map(massif::Snapshot::value).collect();
        }
        Some(values)
    }
}
