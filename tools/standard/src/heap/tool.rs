//! The tool.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;

use superpin_tool::json::{Value, json};
use superpin_tool::merge::{Merge, Sum};
use superpin_tool::models::{Heap, HeapBlock};
use superpin_tool::serde::{Deserialize, Serialize};
use superpin_tool::{
    AppPc, Arg, At, BranchKind, CallStack, FirstPass, Images, Instruction, OnFirstPass, Out, Prefix, SliceInfo, Tool,
    Trace, clap, memory,
};

use super::calls::Calls;
use super::routines::{Call, PLACE, entered, may_be_left};
use super::stacks::{Callers, Stacks};

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Example, what isn't freed in the end: superpin -sp 1 -t heap --by live --top 5 -- ls")]
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
}

/// What stacks are sorted by.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// Bytes that were allocated
    Allocated,
    /// Blocks that were allocated
    Blocks,
    /// Bytes that weren't freed
    Live,
}

/// The tool.
pub struct HeapProfile {
    options: Options,
}

superpin_tool::areas! {
    /// What was allocated.
    pub struct Allocated {
        blocks: Sum,
        bytes: Sum,
    }
}

/// What a slice has.
#[derive(Default)]
pub struct Local {
    calls: Calls,
    part: Part,
    /// The thread that is executed, and its stack; those of the others are in the part.
    thread: u64,
    stack: CallStack<u64>,
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

/// What a part of the run has done.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(crate = "superpin_tool::serde")]
pub struct Part {
    stacks: Stacks,
    heap: Heap<Callers>,
    allocated: BTreeMap<Callers, Allocated>,
    frees: u64,
}

/// A call instruction, that is to return to `back`. What is here and in [`leaves`] is executed at each call, so it is kept short.
fn enters(local: &mut Local, thread: u64, stack_pointer: u64, back: u64) {
    if thread != local.thread {
        local.turns_to(thread);
    }
    local.stack.enter(stack_pointer.wrapping_sub(8), back, |_, _| {});
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
        local.part.free(call.frees_at_once());
    }
}

fn may_leave(local: &mut Local, thread: u64, place: u64) -> bool {
    local.calls.may_end(thread, place)
}

fn allocating_leaves(local: &mut Local, thread: u64, place: u64, result: u64, depth: u64) {
    let Some(call) = local.calls.leave(thread, place) else { return };
    let (freed, allocated) = call.returns(result);
    local.part.free(freed);
    if allocated == 0 {
        return;
    }
    let callers = match depth {
        1 => Callers::only(memory::read_word(place).unwrap_or(0)),
        _ => {
            if thread != local.thread {
                local.turns_to(thread);
            }
            Callers::of(&local.stack, thread, depth as usize)
        }
    };
    let sum = local.part.allocated.entry(callers.clone()).or_default();
    sum.blocks.0 += 1;
    sum.bytes.0 += call.size();
    local.part.heap.allocate(allocated, call.size(), callers);
}

impl Part {
    fn free(&mut self, block: u64) {
        self.frees += u64::from(block != 0);
        self.heap.free(block, |_, _| {});
    }
}

/// What the app has done and what it has in the end.
struct Profile {
    allocated: Allocated,
    frees: u64,
    unknown_frees: u64,
    peak: u64,
    live: Allocated,
    stacks: Vec<Row>,
}

/// Of one stack.
struct Row {
    callers: Vec<AppPc>,
    allocated: Allocated,
    live: Allocated,
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

    fn begins(&self, local: &mut Local, _: Prefix, before: &Calls) {
        local.calls = before.clone();
    }

    fn profile(&self, total: &Part) -> Profile {
        let end = total.heap.clone().end(|_, _| {});
        let mut rows: BTreeMap<&Callers, (Allocated, Allocated)> = BTreeMap::new();
        for (callers, allocated) in &total.allocated {
            rows.entry(callers).or_default().0 = allocated.clone();
        }
        let mut live = Allocated::default();
        for HeapBlock { size, tag, .. } in &end.live {
            let row = &mut rows.entry(tag).or_default().1;
            for sum in [row, &mut live] {
                sum.blocks.0 += 1;
                sum.bytes.0 += size;
            }
        }
        let row = |(callers, (allocated, live)): (&Callers, (Allocated, Allocated))| Row {
            callers: callers.addresses.iter().map(|address| AppPc(*address)).collect(),
            allocated,
            live,
        };
        let mut stacks: Vec<Row> = rows.into_iter().map(row).collect();
        let size = |row: &Row| match self.options.by {
            By::Allocated => row.allocated.bytes.0,
            By::Blocks => row.allocated.blocks.0,
            By::Live => row.live.bytes.0,
        };
        stacks.sort_by_key(|row| Reverse(size(row)));
        if self.options.top > 0 {
            stacks.truncate(self.options.top);
        }
        let mut allocated = Allocated::default();
        total.allocated.values().for_each(|sum| allocated.merge(sum.clone()));
        Profile { allocated, frees: total.frees, unknown_frees: end.unknown_frees, peak: end.peak, live, stacks }
    }
}

/// Where a caller is: routine and distance, source line.
fn place(images: &Images, address: AppPc) -> String {
    // A return address is behind the call, which may be the last thing of its routine.
    let call = AppPc(address.0.wrapping_sub(1));
    let routine = images.routine_at(call);
    let name = routine.map(|routine| format!("{}+{:#x}", routine.demangled(), address.0 - routine.address().0));
    let name = name.unwrap_or_else(|| format!("{:#x}", address.0));
    let line = images.line_at(call).filter(|line| line.line != 0);
    line.map_or(name.clone(), |line| format!("{name} ({line})"))
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
        for instruction in trace.instructions() {
            if self.options.depth > 1 && instruction.is_call() {
                let back = instruction.next_address();
                instruction.call(At::Before, enters, (Arg::ThreadId, PLACE, back));
            }
            if let Some(number) = entered(&instruction) {
                let [a, b, c] = [0, 1, 2].map(Arg::Argument);
                instruction.call(At::Before, allocating_enters, (Arg::ThreadId, PLACE, number, a, b, c));
            }
            if may_be_left(&instruction) {
                let args = (Arg::ThreadId, PLACE, Arg::ReturnValue, self.options.depth);
                instruction.call_if(At::Before, may_leave, (Arg::ThreadId, PLACE), allocating_leaves, args);
            }
            if self.options.depth > 1 && instruction.branch() == Some(BranchKind::Return) {
                instruction.call(At::Before, leaves, (Arg::ThreadId, PLACE));
            }
        }
    }

    fn begin(&self, slice: SliceInfo) -> Local {
        Local { part: Part { heap: Heap::begin(slice), ..Part::default() }, ..Local::default() }
    }

    fn finish(&self, local: &Local) -> Part {
        let mut part = local.part.clone();
        part.stacks.insert(local.thread, local.stack.clone());
        part
    }

    fn fold(&self, total: &mut Part, _: SliceInfo, mut part: Part) {
        let depth = self.options.depth as usize;
        part.heap.tags_mut().for_each(|callers| callers.complete(&total.stacks, depth));
        for (mut callers, allocated) in part.allocated {
            callers.complete(&total.stacks, depth);
            total.allocated.entry(callers).or_default().merge(allocated);
        }
        total.heap.append(part.heap, |_, _| {});
        Merge::merge(&mut total.stacks, part.stacks);
        total.frees += part.frees;
    }

    fn fini(&self, total: Part, out: &mut Out<'_>) -> io::Result<()> {
        let profile = self.profile(&total);
        let Profile { allocated, live, .. } = &profile;
        writeln!(out, "Allocated: {} bytes in {} blocks", allocated.bytes.0, allocated.blocks.0)?;
        writeln!(out, "Freed: {} blocks", profile.frees - profile.unknown_frees)?;
        // The C library itself: what its cache for a thread has it frees once more where the thread ends.
        writeln!(out, "Freed again: {} blocks", profile.unknown_frees)?;
        writeln!(out, "Peak: {} bytes", profile.peak)?;
        writeln!(out, "Left: {} bytes in {} blocks", live.bytes.0, live.blocks.0)?;
        writeln!(out, "{:>16} {:>12} {:>16} {:>12}  allocated by", "bytes", "blocks", "left bytes", "blocks")?;
        for Row { callers, allocated, live } in &profile.stacks {
            let numbers = format!(
                "{:>16} {:>12} {:>16} {:>12}",
                allocated.bytes.0, allocated.blocks.0, live.bytes.0, live.blocks.0
            );
            let mut before = numbers.as_str();
            for caller in callers {
                writeln!(out, "{before:>59}  {}", place(out.images(), *caller))?;
                before = "";
            }
        }
        Ok(())
    }

    fn values_with(&self, total: &Part, images: &Images) -> Option<Value> {
        let profile = self.profile(total);
        let sums = |sum: &Allocated| json!({ "bytes": sum.bytes.0, "blocks": sum.blocks.0 });
        let row = |row: &Row| {
            let callers: Vec<String> = row.callers.iter().map(|caller| place(images, *caller)).collect();
            json!({ "allocated": sums(&row.allocated), "left": sums(&row.live), "callers": callers })
        };
        Some(json!({
            "allocated": sums(&profile.allocated),
            "freed": profile.frees - profile.unknown_frees,
            "freed_again": profile.unknown_frees,
            "peak": profile.peak,
            "left": sums(&profile.live),
            "stacks": profile.stacks.iter().map(row).collect::<Vec<_>>(),
        }))
    }
}
