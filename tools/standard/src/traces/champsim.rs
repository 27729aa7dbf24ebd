//! `champsim`: executed instructions as ChampSim reads them, 64 bytes for each.
//!
//! ```text
//!   at   0 address │ 8 branches │ 9 is taken │ 10 two registers that are written │ 12 four that are read
//!       16 two addresses that are stored to │ 32 four that are loaded from          0: none
//! ```
//!
//! ChampSim tells kinds of branches by the registers: the stack pointer, the flags and the instruction pointer have the numbers that it knows, and come first, so that they are there however many
//! there are. What doesn't fit is left out. A gather or scatter has its base address only.

use std::collections::VecDeque;

use superpin_tool::{Arg, At, BranchKind, Gpr, Instruction, Out, Register, Repeat, SliceInfo, Stream, Tool, Trace};

/// Options.
#[derive(clap::Args)]
#[command(
    after_help = "Example, a compressed trace of 10 million instructions: superpin -sp 1 -start-symbol main -trace 10000000 -t champsim -z -o app.champsim.zst -- app"
)]
pub struct Options {
    /// Whether a string instruction that repeats (REP) is one instruction, or each repetition is
    #[arg(long, value_enum, default_value_t = Repeat::Each)]
    repeat: Repeat,
}

/// The tool.
pub struct ChampSim {
    repeat: Repeat,
}

/// What a slice has.
#[derive(Default)]
pub struct Local {
    stream: Stream,
    /// Whether `loop` and `jrcxz` were taken whose words stand in the buffer, in order.
    by_count: VecDeque<bool>,
}

/// Bytes of a record.
const RECORD: usize = 64;
/// Records that are put together before they are appended.
const TOGETHER: usize = 512;
/// Registers and addresses of a record, that are written and read.
const WRITTEN: usize = 2;
const READ: usize = 4;

const STACK_POINTER: u8 = 6;
const FLAGS: u8 = 25;
const INSTRUCTION_POINTER: u8 = 26;

/// Whether an instruction branches, and how that is known.
mod branches {
    pub const NO: u64 = 0;
    pub const ALWAYS: u64 = 1;
    pub const BY_WORD: u64 = 2;
    pub const BY_COUNT: u64 = 3;
}

/// A register's number. Where ChampSim knows none any will do that is the register's own; these are Pin's for general registers.
fn number(register: Register) -> u8 {
    match register {
        Register::Gpr(Gpr::Rdi) => 3,
        Register::Gpr(Gpr::Rsi) => 4,
        Register::Gpr(Gpr::Rbp) => 5,
        Register::Gpr(Gpr::Rsp) => STACK_POINTER,
        Register::Gpr(Gpr::Rbx) => 7,
        Register::Gpr(Gpr::Rdx) => 8,
        Register::Gpr(Gpr::Rcx) => 9,
        Register::Gpr(Gpr::Rax) => 10,
        Register::Gpr(gpr) => 11 + (gpr as u8 - Gpr::R8 as u8),
        Register::Segment(segment) => 19 + segment as u8,
        Register::Flags => FLAGS,
        Register::Ip => INSTRUCTION_POINTER,
        Register::Vector(n) => 32 + n,
        Register::Mask(n) => 64 + n,
        Register::X87(n) => 72 + n,
        Register::Mmx(n) => 80 + n,
        Register::Tile(n) => 88 + n,
        Register::Bound(n) => 96 + n,
        Register::Mxcsr => 100,
        Register::System => 101,
    }
}

fn numbers<const N: usize>(registers: impl Iterator<Item = Register>) -> [u8; N] {
    let mut all: Vec<u8> = registers.map(number).collect();
    all.sort_by_key(|number| (![STACK_POINTER, FLAGS, INSTRUCTION_POINTER].contains(number), *number));
    all.dedup();
    std::array::from_fn(|n| all.get(n).copied().unwrap_or(0))
}

fn by_count(local: &mut Local, taken: u64) {
    local.by_count.push_back(taken != 0);
}

impl ChampSim {
    /// Words: two constants with registers and how many words there are of which kind, the address, perhaps whether it is taken, addresses.
    fn instrument_instruction(instruction: &Instruction<'_, Local>) {
        let branch = instruction.branch();
        let counts = instruction.mnemonic().starts_with("loop") || instruction.mnemonic().contains("cx");
        let branches = match branch {
            None => branches::NO,
            Some(BranchKind::Conditional) if counts => branches::BY_COUNT,
            Some(BranchKind::Conditional) => branches::BY_WORD,
            Some(_) => branches::ALWAYS,
        };
        // A call stores the instruction pointer, which is how ChampSim tells indirect calls from returns.
        let reads_ip = instruction.is_call().then_some(Register::Ip);
        // A system call isn't a branch to it.
        let written = instruction.registers_written().iter().filter(|r| branch.is_some() || *r != Register::Ip);
        let written = numbers::<WRITTEN>(written);
        let read = numbers::<READ>(instruction.registers_read().iter().chain(reads_ip));
        let operands = instruction.memory_operands();
        let addresses = |is_asked: fn(&superpin_tool::MemoryOperand) -> bool, most| -> Vec<Arg> {
            let asked = operands.iter().enumerate().filter(|(_, operand)| is_asked(operand));
            asked.map(|(n, _)| Arg::MemoryAddress(n)).take(most).collect()
        };
        let (stores, loads) = (addresses(|o| o.write, WRITTEN), addresses(|o| o.read, READ));
        let shape = branches | (stores.len() as u64) << 2 | (loads.len() as u64) << 4;
        let first = u32::from_le_bytes([written[0], written[1], read[0], read[1]]);
        let second = u32::from_le_bytes([read[2], read[3], shape as u8, 0]);
        instruction.buffer((first, second, Arg::Pc));
        if branches == branches::BY_WORD {
            instruction.buffer((Arg::BranchTaken,));
        }
        if branches == branches::BY_COUNT {
            instruction.call(At::Before, by_count, (Arg::BranchTaken,));
        }
        stores.into_iter().chain(loads).for_each(|address| instruction.buffer((address,)));
    }
}

/// Puts an address where there is room, if it isn't there already.
fn put(addresses: &mut [[u8; 8]], address: u64) {
    let address = address.to_le_bytes();
    if let Some(place) = addresses.iter_mut().find(|place| **place == [0; 8] || **place == address) {
        *place = address;
    }
}

impl Tool for ChampSim {
    const NAME: &'static str = "champsim";
    const ABOUT: &'static str = "Write executed instructions for the simulator ChampSim";
    const STREAM: bool = true;
    type Options = Options;
    type Local = Local;
    type Result = ();
    type Total = ();

    fn new(options: Options) -> Result<Self, String> {
        Ok(Self { repeat: options.repeat })
    }

    fn repeat(&self) -> Repeat {
        self.repeat
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        trace.instructions().for_each(|instruction| Self::instrument_instruction(&instruction));
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::default()
    }

    fn drain(&self, local: &mut Local, mut words: &[u64]) {
        let mut records = Vec::with_capacity(TOGETHER * RECORD);
        while let [first, second, pc, rest @ ..] = words {
            let [stored_0, stored_1, read @ ..] = first.to_le_bytes();
            let [read_2, read_3, shape, ..] = second.to_le_bytes();
            let (stores, loads) = (usize::from(shape >> 2 & 3), usize::from(shape >> 4));
            let mut rest = rest;
            let taken = match u64::from(shape) & 3 {
                branches::NO => 0,
                branches::BY_WORD => {
                    let [taken, behind @ ..] = rest else { return };
                    rest = behind;
                    u8::from(*taken != 0)
                }
                branches::BY_COUNT => u8::from(local.by_count.pop_front() == Some(true)),
                _ => 1,
            };
            let mut record = [[0; 8]; RECORD / 8];
            record[0] = pc.to_le_bytes();
            record[1] = [u8::from(shape & 3 != 0), taken, stored_0, stored_1, read[0], read[1], read_2, read_3];
            let (written, behind) = rest.split_at(stores);
            let (loaded, behind) = behind.split_at(loads);
            written.iter().for_each(|address| put(&mut record[2..4], *address));
            loaded.iter().for_each(|address| put(&mut record[4..8], *address));
            records.extend_from_slice(record.as_flattened());
            words = behind;
            if records.len() == TOGETHER * RECORD {
                local.stream.write(&records);
                records.clear();
            }
        }
        local.stream.write(&records);
    }

    fn finish(&self, _: &Local) {}

    fn fold(&self, _: &mut (), _: SliceInfo, (): ()) {}

    fn fini(&self, (): (), _: &mut Out<'_>) -> std::io::Result<()> {
        Ok(())
    }
}
