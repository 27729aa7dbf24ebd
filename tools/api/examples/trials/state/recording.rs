//! Records of several kinds in the buffer, and what is there only if an instruction takes effect: the same as calls tell.

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{Arg, At, BranchKind, Gpr, NoOptions, Out, Records, SliceInfo, Tool, Trace};

/// How many, and a sum: reads, writes, what takes effect, by calls; the same by records; conditional moves and repeated instructions; those that took effect by
/// [`Arg::Executing`] in calls and in records; calls by a test that took effect, and what these calls should be; what is there by a condition, by records and by calls.
type Sums = [(Sum, Sum); 13];

/// The tool.
pub struct Recording;

const READ: u8 = 0;
const WRITE: u8 = 1;
const EFFECT: u8 = 2;
const CHOSEN: u8 = 3;
const TAKEN: u8 = 4;
const EXECUTING: u8 = 255;

fn add(sum: &mut (Sum, Sum), value: u64) {
    sum.0.0 += 1;
    sum.1.0 = sum.1.0.wrapping_mul(3).wrapping_add(value);
}

fn access(sums: &mut Sums, kind: u64, address: u64) {
    add(&mut sums[kind as usize], address);
}

fn takes_effect(sums: &mut Sums, pc: u64, stack_pointer: u64) {
    add(&mut sums[2], pc ^ stack_pointer);
}

fn executes(sums: &mut Sums, executing: u64) {
    sums[6].0.0 += 1;
    sums[7].0.0 += executing;
}

fn is_odd(sums: &mut Sums, value: u64) -> bool {
    sums[9].0.0 += 1;
    value & 8 != 0
}

fn was_odd(sums: &mut Sums, value: u64) {
    add(&mut sums[9], value);
    sums[9].0.0 -= 1;
}

/// What [`is_odd`] and [`was_odd`] make of it together.
fn should_be_odd(sums: &mut Sums, value: u64) {
    if value & 8 != 0 {
        add(&mut sums[10], value);
        sums[10].0.0 -= 1;
    }
    sums[10].0.0 += 1;
}

/// Not 0 for every second value, and not always 1.
fn choice(_: &mut Sums, value: u64) -> u64 {
    (value >> 4 & 1) << (value >> 5 & 31)
}

fn chosen(_: &mut Sums, choice: u64) -> bool {
    choice != 0
}

fn was_chosen(sums: &mut Sums, pc: u64) {
    add(&mut sums[12], pc);
}

impl Tool for Recording {
    const NAME: &'static str = "recording";
    const ABOUT: &'static str = "Check records of several kinds";
    type Options = NoOptions;
    type Local = Sums;
    type Result = Sums;
    type Total = Sums;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Sums>) {
        for block in trace.blocks().filter(|block| block.len() > 1) {
            let choices = block.tool_register();
            block.first().call_into(At::Before, choices, choice, (Gpr::Rsp,));
            block.last().record_if(CHOSEN, choices, (Arg::Pc,));
            block.last().call_if(At::Before, chosen, (choices,), was_chosen, (Arg::Pc,));
            if block.last().branch() == Some(BranchKind::Conditional) && block.last().mnemonic().starts_with("jn") {
                block.last().record_if(TAKEN, Arg::BranchTaken, (Arg::Pc,));
                block.last().call_if(At::Before, chosen, (Arg::BranchTaken,), was_chosen, (Arg::Pc,));
            }
        }
        for instruction in trace.instructions() {
            for (n, operand) in instruction.memory_operands().iter().enumerate() {
                for (is, kind) in [(operand.read, READ), (operand.write, WRITE)] {
                    if is {
                        instruction.record(kind, (Arg::MemoryAddress(n),));
                        instruction.call(At::Before, access, (u64::from(kind), Arg::MemoryAddress(n)));
                    }
                }
            }
            if instruction.is_rep() || instruction.mnemonic().starts_with("cmov") || instruction.bytes().len() == 5 {
                instruction.record_predicated(EFFECT, (Arg::Pc, Gpr::Rsp));
                instruction.call_predicated(At::Before, takes_effect, (Arg::Pc, Gpr::Rsp));
                instruction.record(EXECUTING, (Arg::Executing,));
                instruction.call(At::Before, executes, (Arg::Executing,));
                instruction.call_if_predicated(At::Before, is_odd, (Gpr::Rbx,), was_odd, (Gpr::Rbx,));
                instruction.call_predicated(At::Before, should_be_odd, (Gpr::Rbx,));
            }
        }
    }

    fn begin(&self, _: SliceInfo) -> Sums {
        Sums::default()
    }

    fn drain(&self, sums: &mut Sums, words: &[u64]) {
        for record in Records::of(words) {
            match (record.kind, record.words) {
                (READ | WRITE, &[address]) => add(&mut sums[3 + usize::from(record.kind)], address),
                (EFFECT, &[pc, stack_pointer]) => add(&mut sums[5], pc ^ stack_pointer),
                (CHOSEN | TAKEN, &[pc]) => add(&mut sums[11], pc),
                (EXECUTING, &[executing]) => sums[8].0.0 += executing,
                _ => panic!("another record: {record:?}"),
            }
        }
    }

    fn finish(&self, sums: &Sums) -> Sums {
        let mut sums = *sums;
        // In the order of execution: within a slice.
        for n in [0, 1, 2] {
            sums[n].1.0 = u64::from(sums[n] != sums[n + 3]);
            sums[n + 3].1.0 = 0;
        }
        for n in [9, 11] {
            let differ = sums[n] != sums[n + 1];
            (sums[n].1.0, sums[n + 1].1.0) = (differ.into(), 0);
        }
        sums
    }

    fn fold(&self, total: &mut Sums, _: SliceInfo, sums: Sums) {
        total.merge(sums);
    }

    fn fini(&self, total: Sums, out: &mut Out<'_>) -> std::io::Result<()> {
        let counts = total.map(|sum| sum.0.0);
        let differences = [0, 1, 2, 9, 11].map(|n: usize| total[n].1.0);
        writeln!(out, "recording: {differences:?} {counts:?}")
    }
}
