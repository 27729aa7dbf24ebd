//! Checks every kind of argument against another source of the same fact, and counts the differences.

use superpin_tool::merge::{Merge, Sum};
use superpin_tool::{Arg, At, Gpr, NoOptions, Out, SliceInfo, Tool, Trace};

/// Checks made and differences found, for: pc, pushes, memory operands, closures, registers of the caller.
type Checks = [(Sum, Sum); 4];

/// The tool.
pub struct Arguments;

fn check(checks: &mut Checks, which: usize, ok: bool) {
    checks[which].0.0 += 1;
    checks[which].1.0 += u64::from(!ok);
}

fn pc(checks: &mut Checks, told: u64, known: u64) {
    check(checks, 0, told == known);
}

fn push(checks: &mut Checks, address: u64, rsp: u64) {
    check(checks, 1, address == rsp.wrapping_sub(8));
}

fn operand(checks: &mut Checks, address: u64, base: u64, index: u64, scale: u64, displacement: u64) {
    check(checks, 2, address == base.wrapping_add(index.wrapping_mul(scale)).wrapping_add(displacement));
}

impl Tool for Arguments {
    const NAME: &'static str = "arguments";
    const ABOUT: &'static str = "Check the arguments of analysis routines";
    type Options = NoOptions;
    type Local = Checks;
    type Result = Checks;
    type Total = Checks;

    fn new(_: NoOptions) -> Result<Self, String> {
        Ok(Self)
    }

    fn instrument(&self, trace: &Trace<'_, Checks>) {
        for instruction in trace.instructions() {
            instruction.call(At::Before, pc, (Arg::Pc, instruction.address()));
            let operands = instruction.memory_operands();
            let Some(first) = operands.first() else { continue };
            if instruction.mnemonic() == "push" && operands.len() == 1 {
                instruction.call(At::Before, push, (Arg::MemoryAddress(0), Gpr::Rsp));
            } else if first.segment.is_none() && !first.inexact && !first.address_32 && !first.stack {
                let register = |r: Option<Gpr>| r.map_or(Arg::Const(0), Arg::Register);
                let (base, index) = (register(first.base), register(first.index));
                let args = (Arg::MemoryAddress(0), base, index, first.scale, first.displacement as u64);
                instruction.call(At::Before, operand, args);
            }
        }
        for block in trace.blocks() {
            let many_words = |checks: &mut Checks, a: u64, b: u64, c: u64, d: u64, e: u64| {
                check(checks, 3, [a, b, c, d, e] == [1, 1 << 20, 1 << 40, u64::MAX, 5]);
            };
            block.call(At::Before, many_words, (true, 1_u32 << 20, 1_u64 << 40, u64::MAX, 5_u8));
        }
    }

    fn begin(&self, _: SliceInfo) -> Checks {
        Checks::default()
    }

    fn finish(&self, checks: &Checks) -> Checks {
        *checks
    }

    fn fold(&self, total: &mut Checks, _: SliceInfo, checks: Checks) {
        total.merge(checks);
    }

    fn fini(&self, total: Checks, out: &mut Out<'_>) -> std::io::Result<()> {
        for (name, (checks, differences)) in ["pc", "push", "operand", "constants"].iter().zip(total) {
            writeln!(out, "{name}: {} of {}", differences.0, checks.0)?;
        }
        Ok(())
    }
}
