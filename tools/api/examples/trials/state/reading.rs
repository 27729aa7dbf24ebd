//! Memory of the app's: what a routine reads before an instruction is what the instruction loads.

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{Arg, At, Gpr, Instruction, NoOptions, OperandKind, Out, Register, SliceInfo, Tool, Trace, memory};

/// Loads, those that a word told otherwise, those that bytes did, what could be read at places where there is nothing, words at a page's end that could be read, words on the next page.
type Sums = [Sum; 6];

const PAGE: u64 = 4096;

/// What a slice has.
#[derive(Default)]
pub struct Local {
    word: Option<u64>,
    bytes: [u8; 8],
    read: usize,
    sums: Sums,
}

/// The tool.
pub struct Reading;

fn reads(local: &mut Local, address: u64) {
    local.word = memory::read_word(address);
    local.read = memory::read(address, &mut local.bytes);
    local.sums[5].0 += u64::from(memory::read_word(address + PAGE).is_some());
}

fn loaded(local: &mut Local, value: u64) {
    local.sums[0].0 += 1;
    local.sums[1].0 += u64::from(local.word != Some(value));
    local.sums[2].0 += u64::from(local.read != 8 || local.bytes != value.to_le_bytes());
}

/// Reads where nothing can be, and over the end of a page behind which there may be nothing.
fn reads_elsewhere(local: &mut Local, address: u64) {
    let mut into = [0; 24];
    let bubble = 0x5554_e000_0000 + (address & 0xfff);
    for nowhere in [0, 0x10, address | 1 << 63, u64::MAX - 3, bubble] {
        local.sums[3].0 += memory::read(nowhere, &mut into) as u64;
        local.sums[3].0 += u64::from(memory::read_word(nowhere).is_some());
        local.sums[3].0 += u64::from(memory::read_c_string(nowhere, 8).is_some());
    }
    let at_end = (address | 0xfff) - 10;
    let read = memory::read(at_end, &mut into);
    let expected = if memory::read_word(at_end + 11).is_some() { 24 } else { 11 };
    local.sums[3].0 += u64::from(read != expected);
    local.sums[3].0 += u64::from(memory::read_word(at_end + 4).is_some() != (expected == 24));
    local.sums[4].0 += u64::from(expected == 24);
}

/// The register that an instruction loads eight bytes into, if that is all it does.
fn loads_into(instruction: &Instruction<'_, Local>) -> Option<Gpr> {
    let operands = instruction.memory_operands();
    let is_load = instruction.mnemonic() == "mov" && operands.len() == 1 && operands[0].read && operands[0].size == 8;
    let register = |kind: &OperandKind| match kind {
        OperandKind::Register(Register::Gpr(r)) => Some(*r),
        _ => None,
    };
    let all = instruction.operands();
    all.iter().filter(|operand| operand.write).find_map(|operand| register(&operand.kind)).filter(|_| is_load)
}

impl Tool for Reading {
    const NAME: &'static str = "reading";
    const ABOUT: &'static str = "Check what routines read of the app's memory";
    type Options = NoOptions;
    type Local = Local;
    type Result = Sums;
    type Total = Sums;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Local>) {
        for instruction in trace.instructions() {
            if let Some(register) = loads_into(&instruction) {
                instruction.call(At::Before, reads, (Arg::MemoryAddress(0),));
                instruction.call(At::After, loaded, (register,));
                if instruction.address().0.is_multiple_of(256) {
                    instruction.call(At::Before, reads_elsewhere, (Arg::MemoryAddress(0),));
                }
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Local {
        Local::default()
    }

    fn finish(&self, local: &Local) -> Sums {
        local.sums
    }

    fn fold(&self, total: &mut Sums, _: SliceInfo, sums: Sums) {
        total.merge(sums);
    }

    fn fini(&self, total: Sums, out: &mut Out<'_>) -> std::io::Result<()> {
        let [loads, words, bytes, elsewhere, at_ends, next] = total.map(|sum| sum.0);
        writeln!(
            out,
            "reading: {loads} loads, {words} {bytes} {elsewhere} wrong, {at_ends} at ends of pages, {next} on the next"
        )
    }
}

/// A tool that reads memory where that is another's.
pub struct ReadsInDrain;

impl Tool for ReadsInDrain {
    const NAME: &'static str = "reads-in-drain";
    const ABOUT: &'static str = "Reads the app's memory when its buffer is emptied";
    type Options = NoOptions;
    type Local = u64;
    type Result = u64;
    type Total = u64;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, u64>) {
        trace.instructions().for_each(|instruction| instruction.buffer((Gpr::Rsp,)));
    }

    fn begin(&self, _: SliceInfo) -> u64 {
        0
    }

    fn drain(&self, local: &mut u64, words: &[u64]) {
        *local += words.iter().filter_map(|&address| memory::read_word(address)).count() as u64;
    }

    fn finish(&self, local: &u64) -> u64 {
        *local
    }

    fn fold(&self, total: &mut u64, _: SliceInfo, result: u64) {
        *total += result;
    }

    fn fini(&self, _: u64, out: &mut Out<'_>) -> std::io::Result<()> {
        writeln!(out, "a total")
    }
}
