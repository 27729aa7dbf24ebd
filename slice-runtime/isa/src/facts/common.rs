//! What the commonest instructions use, without asking iced, which takes several times as long: nearly all of what is translated
//! is instructions like these. iced stays the judge: the tests compare.

use iced_x86::{Mnemonic, OpAccess, OpKind, Register};
use machine::Gpr;

use super::info::{Usage, add_register};

const RSP: u16 = 1 << Gpr::Rsp as u16;

/// How an instruction accesses its operands.
struct Accesses {
    /// The first operand.
    first: OpAccess,
    /// The second.
    second: OpAccess,
    /// Whether it moves the stack pointer and accesses the stack, beside its operands.
    stack: bool,
}

impl Accesses {
    const fn of(first: OpAccess, second: OpAccess) -> Option<Accesses> {
        Some(Accesses { first, second, stack: false })
    }

    const fn on_stack(first: OpAccess) -> Option<Accesses> {
        Some(Accesses { first, second: OpAccess::None, stack: true })
    }
}

/// `None` for all that isn't common.
fn accesses(iced: &iced_x86::Instruction) -> Option<Accesses> {
    use OpAccess::{None as Nothing, Read, ReadWrite, Write};
    match iced.mnemonic() {
        Mnemonic::Mov | Mnemonic::Movzx | Mnemonic::Movsx | Mnemonic::Movsxd => Accesses::of(Write, Read),
        Mnemonic::Lea => Accesses::of(Write, OpAccess::NoMemAccess),
        Mnemonic::Cmp | Mnemonic::Test => Accesses::of(Read, Read),
        Mnemonic::Add | Mnemonic::Sub | Mnemonic::And | Mnemonic::Or | Mnemonic::Xor => {
            // A register combined with itself may be a way to write a constant.
            let same = iced.op1_kind() == OpKind::Register && iced.op0_register() == iced.op1_register();
            if same { None } else { Accesses::of(ReadWrite, Read) }
        }
        Mnemonic::Push if iced.op0_kind() == OpKind::Register => Accesses::on_stack(Read),
        Mnemonic::Pop if iced.op0_kind() == OpKind::Register => Accesses::on_stack(Write),
        Mnemonic::Call if iced.is_call_near() => Accesses::on_stack(Nothing),
        Mnemonic::Jmp if iced.is_jmp_short_or_near() => Accesses::of(Nothing, Nothing),
        _ if iced.is_jcc_short_or_near() => Accesses::of(Nothing, Nothing),
        _ => None,
    }
}

/// The registers that a common instruction uses and whether it accesses memory; `None` for others.
pub(super) fn registers(iced: &iced_x86::Instruction) -> Option<Usage> {
    let Accesses { first, second, stack } = accesses(iced)?;
    let mut usage = Usage::default();
    for (operand, access) in [(0, first), (1, second)] {
        if operand >= iced.op_count() {
            break;
        }
        match iced.op_kind(operand) {
            OpKind::Register => add_register(&mut usage, iced.op_register(operand), access),
            OpKind::Memory => {
                for register in [iced.memory_base(), iced.memory_index()] {
                    if register != Register::None {
                        add_register(&mut usage, register, OpAccess::Read);
                    }
                }
                usage.may_fault |= access != OpAccess::NoMemAccess;
            }
            _ => {}
        }
    }
    if stack {
        usage.gpr_read |= RSP;
        usage.gpr_written |= RSP;
        usage.may_fault = true;
    }
    Some(usage)
}

#[cfg(test)]
mod tests {
    use machine::AppPc;

    use super::super::usage::asked;
    use super::*;
    use crate::decode::Instruction;

    #[test]
    fn says_what_iced_says() {
        let mut state = 1_u64;
        let mut byte = || {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 56) as u8
        };
        let mut common = std::collections::BTreeMap::<String, u32>::new();
        for round in 0..1_000_000_u32 {
            let mut bytes: [u8; 15] = std::array::from_fn(|_| byte());
            if round % 2 == 0 {
                // As it is in most code.
                bytes[0] = 0x40 | bytes[0] & 15;
            }
            if round % 4 == 0 {
                bytes[1] = 0x0f;
            }
            let Ok(instruction) = Instruction::decode(&bytes, AppPc(0x40_0000)) else { continue };
            let Some(quick) = registers(&instruction.iced) else { continue };
            let mut asked = asked(&instruction.iced);
            // The rest is computed from these alike.
            asked.gpr_killed &= !asked.gpr_read;
            let quick = Usage { gpr_killed: quick.gpr_killed & !quick.gpr_read, ..quick };
            assert_eq!(quick, asked, "{instruction:?}");
            *common.entry(instruction.mnemonic().to_owned()).or_default() += 1;
        }
        for mnemonic in
            ["mov", "movzx", "movsx", "movsxd", "lea", "cmp", "test", "add", "xor", "push", "pop", "call", "jmp", "jne"]
        {
            assert!(common.get(mnemonic).is_some_and(|&n| n > 100), "{mnemonic} in {common:?}");
        }
    }
}
