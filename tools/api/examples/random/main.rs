//! A tool that instruments by chance: what is put where is drawn from a seed and the code's addresses, so it is a pure function of the code.
//! What it prints must be the same wherever slices end and traces are cut, and whatever is optimised.
//!
//! One line for each kind of thing that it saw at a block, with the block's addresses, how often, and the sum of what came with it. Where each thread is seen by itself, a line for
//! each besides, with a number that depends on all that it was seen to do.
#![no_main]

mod counting;
mod numbered;
mod stopping;

use std::collections::BTreeMap;

use superpin_tool::{
    Arg, At, Block, Gpr, Instruction, Out, Record, Records, SliceInfo, ThreadInfo, ThreadPath, Threads, Tool,
    ToolRegister, Trace, clap, memory, serde,
};

superpin_tool::image!(RandomTool, counting::Counting, numbered::Numbered, stopping::Stopping);

/// The tool.
struct RandomTool {
    seed: u64,
    threads: Threads,
}

#[derive(clap::Args)]
struct Options {
    /// What it is drawn from
    #[arg(long, default_value = "1")]
    seed: u64,
    /// What it sees of threads: one stream (0), sums (1), each by itself (2)
    #[arg(long, default_value = "0", value_parser = clap::value_parser!(u64).range(0..=2))]
    threads: u64,
}

/// What was seen: kind, and the addresses of the block's first instruction and behind its last.
type What = (u64, u64, u64);

/// Words of small routines, which are put in place.
const WORDS: usize = 5;

#[derive(Default)]
struct Local {
    /// How often, and the sum of the values.
    seen: BTreeMap<What, (u64, u64)>,
    words: [u64; WORDS],
}

#[derive(Default, serde::Serialize, serde::Deserialize)]
#[serde(crate = "superpin_tool::serde")]
struct Seen {
    seen: Vec<(What, (u64, u64))>,
    words: [u64; WORDS],
}

/// The kind of what is read from memory, which depends on what other threads have mapped by then.
const READ: u64 = 22;

impl Seen {
    /// A number for all of it. Those of two parts add up to that of both.
    fn digest(&self) -> u64 {
        let of_words = self.words.iter().zip(1..).map(|(word, n)| hash(n, 0).wrapping_mul(*word));
        let of_seen = self.seen.iter().filter(|(what, _)| what.0 != READ).map(|(what, (times, value))| {
            let place = hash(hash(what.0, what.1), what.2);
            place.wrapping_mul(*times).wrapping_add(hash(place, 1).wrapping_mul(*value))
        });
        of_words.chain(of_seen).fold(0, u64::wrapping_add)
    }
}

/// What all have seen, and a number for each thread.
#[derive(Default)]
struct Total {
    all: Local,
    threads: BTreeMap<ThreadPath, u64>,
}

fn see(local: &mut Local, kind: u64, begin: u64, end: u64, value: u64) {
    let (times, sum) = local.seen.entry((kind, begin, end)).or_default();
    *times = times.wrapping_add(1);
    *sum = sum.wrapping_add(value);
}

/// Like [`see`], for values that are taken back.
fn sum(local: &mut Local, kind: u64, begin: u64, end: u64, instructions: u64) {
    let (_, sum) = local.seen.entry((kind, begin, end)).or_default();
    *sum = sum.wrapping_add(instructions);
}

fn add_first(local: &mut Local, value: u64) {
    local.words[0] = local.words[0].wrapping_add(value);
}

fn add_second(local: &mut Local, value: u64) {
    local.words[1] = local.words[1].wrapping_add(value);
}

fn mix(local: &mut Local, value: u64, address: u64) {
    local.words[2] = local.words[2].wrapping_add(value ^ address);
}

/// Instructions, weighed by the thread's number.
fn add_weighed(local: &mut Local, thread: u64, instructions: u64) {
    local.words[4] = local.words[4].wrapping_add((2 * thread + 1).wrapping_mul(instructions));
}

/// Whether an address is one of a third of all, counted.
fn is_chosen(local: &mut Local, address: u64) -> bool {
    local.words[3] = local.words[3].wrapping_add(address);
    address.is_multiple_of(3)
}

/// How much can be read at an address or, if it is to be `far`, behind it, some pages on: what is mapped there, and whether it can be read, is a matter of the app's.
fn reads(local: &mut Local, kind: u64, begin: u64, end: u64, address: u64, far: u64) {
    let drawn = hash(begin, address);
    let behind = (address | 0xfff) + drawn % 8 * 4096 - 20;
    let read = match far {
        0 => 100 * u64::from(memory::read_word(address & !7).is_some()),
        _ if !(drawn >> 8).is_multiple_of(32) => 7,
        _ => memory::read(behind, &mut [0; 40]) as u64,
    };
    see(local, kind, begin, end, read);
}

/// Floating point: whatever the app has set for its own, it is the tool's.
fn root(local: &mut Local, value: u64) {
    let root = (value as f64).sqrt() / 3.0;
    local.words[1] = local.words[1].wrapping_add(root.to_bits() >> 8);
}

/// A value to be kept.
fn mixed(local: &mut Local, address: u64, kept: u64) -> u64 {
    local.words[2] = local.words[2].wrapping_add(kept);
    (kept ^ address).wrapping_mul(5)
}

/// Which version of a block's calls is made.
fn version(local: &mut Local, stack_pointer: u64, begin: u64) -> u64 {
    local.words[0] = local.words[0].wrapping_add(stack_pointer);
    (stack_pointer >> 4 ^ begin) & 1
}

/// A number that depends on both and shows neither.
fn hash(seed: u64, value: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ value.wrapping_mul(0xd6e8_feb8_6659_fd93);
    x = (x ^ x >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
    x ^ x >> 29
}

/// What may be drawn for a block.
const KINDS: u64 = 13;

fn instrument_block(block: &Block<'_, Local>, drawn: u64) {
    let (begin, end) = (block.address(), block.end_address());
    let kind = drawn % KINDS;
    match kind {
        0 => block.call(At::Anywhere, see, (kind, begin, end, 1_u64)),
        1 => block.call(At::Anywhere, sum, (kind, begin, end, Arg::BlockInstructions)),
        2 => block.call(At::Before, see, (kind, begin, end, Arg::Pc)),
        3 => block.call(At::Anywhere, see, (kind, begin, end, Arg::Pc)),
        4 => block.call(At::Anywhere, see, (kind, begin, end, Gpr::Rsp)),
        5 => block.call(At::Anywhere, add_first, (hash(begin.0, end.0),)),
        6 => block.call(At::Anywhere, add_second, (Arg::BlockInstructions,)),
        7 => block.instructions().for_each(|i| i.call(At::Before, add_second, (Arg::BlockInstructions,))),
        8 => block.instructions().for_each(|i| i.call(At::Before, see, (kind, begin, end, Arg::Pc))),
        9 => {
            let versions = block.versions(version, (Gpr::Rsp, begin));
            block.instructions().for_each(|i| i.call_in(versions, begin.0 % 3, see, (kind, begin, end, Arg::Pc)));
        }
        10 => block.call(At::Anywhere, add_weighed, (Arg::ThreadId, Arg::BlockInstructions)),
        11 => block.call(At::Before, root, (Gpr::Rsp,)),
        _ => block.call(At::Anywhere, see, (kind, begin, end, Arg::ThreadId)),
    }
}

/// Values that are kept within a block. `kept`: whether there is one, and whether there was before this instruction.
fn keep(
    instruction: &Instruction<'_, Local>,
    block: &Block<'_, Local>,
    register: ToolRegister,
    kept: &mut bool,
    drawn: u64,
) {
    let (begin, end) = (block.address(), block.end_address());
    let kind = KINDS + drawn % 24;
    let was_kept = *kept;
    match drawn % 24 {
        11 | 12 => {
            let has_operand = !instruction.memory_operands().is_empty();
            let value = if has_operand { Arg::MemoryAddress(0) } else { Arg::Register(Gpr::Rsp) };
            instruction.keep(At::Before, register, value);
            *kept = true;
        }
        13 if instruction.has_after() => {
            instruction.keep(At::After, register, Gpr::Rsp);
            // A branch that is taken skips it, but that is the last of its block.
            *kept = true;
        }
        14 if was_kept => instruction.call_into(At::Before, register, mixed, (Gpr::Rsp, register)),
        15 if was_kept => instruction.call(At::Before, see, (kind, begin, end, register)),
        16 if was_kept => instruction.call_if(At::Before, is_chosen, (register,), see, (kind, begin, end, register)),
        17 | 18 if was_kept => instruction.record(96, (begin, end, register)),
        19 if was_kept => instruction.call(At::Before, mix, (end, register)),
        20 if was_kept && instruction.has_after() => instruction.call(At::After, see, (kind, begin, end, register)),
        21 if was_kept => instruction.call_predicated(At::Before, see, (kind, begin, end, register)),
        _ => {}
    }
}

fn instrument_instruction(instruction: &Instruction<'_, Local>, block: &Block<'_, Local>, drawn: u64) {
    let (begin, end) = (block.address(), block.end_address());
    let kind = KINDS + drawn % 24;
    let operands = instruction.memory_operands();
    match drawn % 24 {
        0 if !operands.is_empty() => instruction.call(At::Before, see, (kind, begin, end, Arg::MemoryAddress(0))),
        1 if !operands.is_empty() => instruction.call(At::Before, mix, (begin, Arg::MemoryAddress(0))),
        2 if instruction.has_after() => instruction.call(At::After, see, (kind, begin, end, Arg::Pc)),
        3 if instruction.branch().is_some() => instruction.call(At::Taken, see, (kind, begin, end, Arg::BranchTarget)),
        4 => instruction.call_predicated(At::Before, see, (kind, begin, end, Gpr::Rsp)),
        5 if !operands.is_empty() => {
            instruction.call_if(At::Before, is_chosen, (Arg::MemoryAddress(0),), see, (kind, begin, end, Arg::Pc));
        }
        6 | 7 if !operands.is_empty() => instruction.record(kind as u8, (begin, end, Arg::MemoryAddress(0))),
        8 if (drawn / 24).is_multiple_of(2) => instruction.record(95, (begin, end, Arg::ThreadId)),
        8 => instruction.record(98, (begin, end, Arg::Pc)),
        9 if (drawn / 24).is_multiple_of(2) => instruction.call(At::Before, mix, (end, Arg::ThreadId)),
        9 => instruction.call(At::Before, mix, (end, Gpr::Rsp)),
        10 if !operands.is_empty() => {
            // Few read far away, and now and then: most of that can't be read, which costs a fault each time, eight microseconds serially, or many times that in a virtual machine.
            let far = u64::from(hash(end.0, begin.0).is_multiple_of(16));
            instruction.call(At::Before, reads, (kind, begin, end, Arg::MemoryAddress(0), far));
        }
        22 => instruction.record_predicated(97, (begin, end, Gpr::Rsp)),
        23 if !operands.is_empty() => {
            let address = Arg::MemoryAddress(0);
            instruction.call_if_predicated(At::Before, is_chosen, (address,), see, (kind, begin, end, Arg::Executing));
        }
        _ => {}
    }
}

impl Tool for RandomTool {
    const NAME: &'static str = "random";
    const ABOUT: &'static str = "Look at random things of the code";
    type Options = Options;
    type Local = Local;
    type Result = Seen;
    type Total = Total;

    fn new(options: Options) -> Result<Self, String> {
        let threads = [Threads::OneStream, Threads::AnyOrder, Threads::Each][options.threads as usize];
        Ok(Self { seed: options.seed, threads })
    }

    fn threads(&self) -> Threads {
        self.threads
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        for block in trace.blocks() {
            instrument_block(&block, hash(self.seed, block.address().0));
            let (register, mut kept) = (block.tool_register(), false);
            for instruction in block.instructions() {
                let place = hash(block.address().0, instruction.address().0);
                let drawn = hash(!self.seed, place);
                instrument_instruction(&instruction, &block, drawn);
                keep(&instruction, &block, register, &mut kept, drawn);
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::default()
    }

    fn drain(&self, local: &mut Local, words: &[u64]) {
        for Record { kind, words } in Records::of(words) {
            see(local, kind.into(), words[0], words[1], words[2]);
        }
    }

    fn finish(&self, local: &Local) -> Seen {
        Seen { seen: local.seen.iter().map(|(what, seen)| (*what, *seen)).collect(), words: local.words }
    }

    fn fold_thread(&self, total: &mut Total, slice: SliceInfo, thread: &ThreadInfo, result: Seen) {
        let digest = total.threads.entry(thread.path.clone()).or_default();
        *digest = digest.wrapping_add(result.digest());
        self.fold(total, slice, result);
    }

    fn fold(&self, Total { all: total, .. }: &mut Total, _: SliceInfo, result: Seen) {
        for (what, (times, value)) in result.seen {
            let seen = total.seen.entry(what).or_default();
            *seen = (seen.0.wrapping_add(times), seen.1.wrapping_add(value));
        }
        for (word, more) in total.words.iter_mut().zip(result.words) {
            *word = word.wrapping_add(more);
        }
    }

    fn fini(&self, Total { all: total, threads }: Total, out: &mut Out<'_>) -> std::io::Result<()> {
        for (path, digest) in threads {
            writeln!(out, "thread {path} {digest:x}")?;
        }
        for (n, word) in total.words.iter().enumerate() {
            writeln!(out, "word {n} {word:x}")?;
        }
        for ((kind, begin, end), (times, sum)) in &total.seen {
            // One that was only begun and taken back again, as often as not.
            if (*times, *sum) != (0, 0) {
                writeln!(out, "{kind} {begin:x} {end:x} {times} {sum:x}")?;
            }
        }
        Ok(())
    }
}
