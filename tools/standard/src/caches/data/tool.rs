//! What is instrumented.

use superpin_tool::json::Value;
use superpin_tool::{
    AppPc, Arg, At, CodeAddress, FirstPass, Gpr, ImageEvent, Images, Instruction, MemoryOperand, OnFirstPass, OnImage,
    Out, Prefix, Repeat, SliceInfo, Tool, Trace, clap, memory,
};

use super::allocations::{Allocations, Block, Calls, entered, mark_entry, mark_return, may_be_left};
use super::misses::ByData;
use super::rows::{self, Row, Sort};
use super::text;
use crate::caches::geometry::Geometry;
use crate::caches::seen::Seen;
use crate::caches::shapes::Shapes;
use crate::caches::words::{self, Told};
use crate::repeat;

/// Options.
#[derive(clap::Args)]
#[command(after_help = "Example: superpin -sp 1 -t data --processor zen4 --top 10 -- ./app\n  \
    Blocks are told apart by who has called malloc; with --allocator xmalloc, by who has called that.")]
pub struct Options {
    #[command(flatten)]
    geometry: Geometry,
    /// Routines that give out what malloc has allocated for them: whoever calls these is told
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    allocator: Vec<String>,
    /// By which misses rows are sorted, the most first
    #[arg(long, value_enum, default_value_t = Sort::L1)]
    sort: Sort,
    /// How many rows to print; 0: all
    #[arg(long, default_value_t = 20)]
    top: usize,
}

/// Simulates TLBs and caches as [`AllCache`](crate::AllCache) does, and says of which data the misses are.
pub struct DataProfile {
    options: Options,
    shapes: Shapes,
}

/// What a slice has.
pub struct Local {
    seen: Seen<ByData>,
    allocations: Allocations,
}

impl Local {
    fn allocated(&mut self, block: Option<Block>) {
        if let Some(Block { address, size, owner }) = block {
            self.seen.misses.finder.owners.own(address, size, owner);
        }
    }
}

/// To where a routine is to return that was entered with this stack pointer, and in which program.
fn returns_to(place: u64) -> u64 {
    CodeAddress::here(AppPc(memory::read_word(place).unwrap_or(0))).to_bits()
}

fn enters(local: &mut Local, thread: u64, place: u64, number: u64, a: u64, b: u64, c: u64) {
    let returns_to = returns_to(place);
    let block = local.allocations.enters(thread, place, number, [a, b, c], returns_to);
    local.allocated(block);
}

fn may_return(local: &mut Local, thread: u64, place: u64) -> bool {
    local.allocations.may_return(thread, place)
}

fn returns(local: &mut Local, thread: u64, place: u64, result: u64) {
    let block = local.allocations.returns(thread, place, result, |at| memory::read_word(at).unwrap_or(0));
    local.allocated(block);
}

fn counts_entry(calls: &mut Calls, thread: u64, place: u64, number: u64, a: u64, b: u64, c: u64) {
    calls.enter(thread, place, number, [a, b, c], returns_to(place));
}

fn may_leave(calls: &mut Calls, thread: u64, place: u64) -> bool {
    calls.may_leave(thread, place)
}

fn counts_return(calls: &mut Calls, thread: u64, place: u64) {
    calls.leave(thread, place);
}

/// Whether the stack is accessed by its pointer. A word of the buffer says so in place of the instruction's address.
fn by_stack_pointer(operand: Option<&MemoryOperand>) -> u64 {
    u64::from(operand.is_some_and(|operand| operand.stack || operand.base == Some(Gpr::Rsp)))
}

impl DataProfile {
    fn counts(&self, instruction: &Instruction<'_, Calls>) {
        if let Some(number) = entered(instruction, &self.options.allocator) {
            let [a, b, c] = [0, 1, 2].map(Arg::Argument);
            instruction.call(At::Before, counts_entry, (Arg::ThreadId, Gpr::Rsp, number, a, b, c));
        }
        if may_be_left(instruction, &self.options.allocator) {
            let args = (Arg::ThreadId, Gpr::Rsp);
            instruction.call_if(At::Before, may_leave, args, counts_return, args);
        }
    }

    fn watch(&self, instruction: &Instruction<'_, Local>) {
        if let Some(number) = entered(instruction, &self.options.allocator) {
            mark_entry(instruction, number);
            let [a, b, c] = [0, 1, 2].map(Arg::Argument);
            instruction.call(At::Before, enters, (Arg::ThreadId, Gpr::Rsp, number, a, b, c));
        }
        if may_be_left(instruction, &self.options.allocator) {
            mark_return(instruction);
            let args = (Arg::ThreadId, Gpr::Rsp);
            instruction.call_if(At::Before, may_return, args, returns, (Arg::ThreadId, Gpr::Rsp, Arg::ReturnValue));
        }
    }

    fn begins(&self, local: &mut Local, _: Prefix, before: &Calls) {
        local.allocations = Allocations::begin(before);
    }

    fn on_image(&self, local: &mut Local, event: ImageEvent<'static>) {
        local.seen.misses.finder.images.note(event);
    }

    fn rows(&self, mut total: Seen<ByData>, images: &Images) -> Vec<Row> {
        total.end();
        let mut rows = rows::rows(&total.misses, images, (self.options.sort, self.shapes.lower.len()));
        // The first one is of all.
        if self.options.top > 0 {
            rows.truncate(self.options.top + 1);
        }
        rows
    }
}

impl Tool for DataProfile {
    const NAME: &'static str = "data";
    const ABOUT: &'static str = "Find the variables and allocated blocks that miss TLBs and caches";
    const ON_IMAGE: Option<OnImage<Self>> = Some(Self::on_image);
    const FIRST_PASS: Option<OnFirstPass<Self>> = Some(&FirstPass { counts: Self::counts, begins: Self::begins });
    type Options = Options;
    type Local = Local;
    type Result = Seen<ByData>;
    type Total = Seen<ByData>;

    fn new(options: Options) -> Result<Self, String> {
        let shapes = options.geometry.shapes()?;
        Ok(Self { options, shapes })
    }

    fn repeat(&self) -> Repeat {
        Repeat::Each
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        for block in trace.blocks() {
            block.instructions().for_each(|instruction| self.watch(&instruction));
            words::instrument(&block, self.shapes.fetched, |_, operand| by_stack_pointer(operand));
        }
    }

    fn begin(&self, slice: SliceInfo) -> Local {
        let mut seen = Seen::<ByData>::begin(&self.shapes, slice);
        seen.misses.finder.is_first = slice.number == 0;
        seen.misses.finder.here = CodeAddress::here(AppPc(0)).to_bits();
        Local { seen, allocations: Allocations::default() }
    }

    fn drain(&self, local: &mut Local, words: &[u64]) {
        let Local { seen, allocations } = local;
        words::each_marked(words, |told| match told {
            Told::Access(access) => seen.access(&access),
            Told::Mark(mark) => {
                if let Some(Block { address, size, owner }) = allocations.take(mark) {
                    seen.misses.finder.owners.own(address, size, owner);
                }
            }
        });
    }

    fn finish(&self, local: &Local) -> Seen<ByData> {
        local.seen.clone()
    }

    fn fold(&self, total: &mut Seen<ByData>, _: SliceInfo, next: Seen<ByData>) {
        total.append_closed(next, |total, next, open| total.close(next, open));
    }

    fn warmed_up(&self, total: &mut Seen<ByData>) {
        let mut misses = std::mem::take(&mut total.misses);
        total.end_warm_up();
        misses.begin_anew();
        total.misses = misses;
    }

    fn fini(&self, total: Seen<ByData>, out: &mut Out<'_>) -> std::io::Result<()> {
        let rows = self.rows(total, out.images());
        text::write(&rows, &self.shapes, out)?;
        repeat::say(self.repeat(), out)
    }

    fn values_with(&self, total: &Seen<ByData>, images: &Images) -> Option<Value> {
        let mut values = text::values(&self.rows(total.clone(), images), &self.shapes);
        values["repetitions"] = self.repeat().to_string().into();
        Some(values)
    }
}
