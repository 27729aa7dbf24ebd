//! Which encodings of an instruction do the same with other operands.

use iced_x86::{Code, OpKind, Register};

/// How an instruction takes an immediate in place of its source register.
#[derive(Clone, Copy)]
pub(super) struct ImmediateForm {
    /// With an 8-bit immediate that is sign-extended, if there is one.
    pub(super) short: Option<(Code, OpKind)>,
    /// With a full immediate (32 bits sign-extended for 64-bit operands).
    pub(super) full: (Code, OpKind),
}

/// Generates the tables for the eight operations that share one encoding scheme, and `test`.
macro_rules! tables {
    ($($rm8_r8:ident $r8_rm8:ident $rm8_imm8:ident $al:ident,
       $rm16_r16:ident $r16_rm16:ident $rm16_imm8:ident $rm16_imm16:ident $ax:ident,
       $rm32_r32:ident $r32_rm32:ident $rm32_imm8:ident $rm32_imm32:ident $eax:ident,
       $rm64_r64:ident $r64_rm64:ident $rm64_imm8:ident $rm64_imm32:ident $rax:ident;)*) => {
        /// The forms of `op r/m, r` and `op r, r/m` (with a register as r/m) that take an immediate as source.
        pub(super) fn immediate_form(code: Code) -> Option<ImmediateForm> {
            let form = |short, full| Some(ImmediateForm { short, full });
            match code {
                $(
                    Code::$rm8_r8 | Code::$r8_rm8 => form(None, (Code::$rm8_imm8, OpKind::Immediate8)),
                    Code::$rm16_r16 | Code::$r16_rm16 => form(
                        Some((Code::$rm16_imm8, OpKind::Immediate8to16)),
                        (Code::$rm16_imm16, OpKind::Immediate16),
                    ),
                    Code::$rm32_r32 | Code::$r32_rm32 => form(
                        Some((Code::$rm32_imm8, OpKind::Immediate8to32)),
                        (Code::$rm32_imm32, OpKind::Immediate32),
                    ),
                    Code::$rm64_r64 | Code::$r64_rm64 => form(
                        Some((Code::$rm64_imm8, OpKind::Immediate8to64)),
                        (Code::$rm64_imm32, OpKind::Immediate32to64),
                    ),
                )*
                Code::Test_rm8_r8 => form(None, (Code::Test_rm8_imm8, OpKind::Immediate8)),
                Code::Test_rm16_r16 => form(None, (Code::Test_rm16_imm16, OpKind::Immediate16)),
                Code::Test_rm32_r32 => form(None, (Code::Test_rm32_imm32, OpKind::Immediate32)),
                Code::Test_rm64_r64 => form(None, (Code::Test_rm64_imm32, OpKind::Immediate32to64)),
                Code::Mov_rm8_r8 => form(None, (Code::Mov_rm8_imm8, OpKind::Immediate8)),
                Code::Mov_rm16_r16 => form(None, (Code::Mov_rm16_imm16, OpKind::Immediate16)),
                Code::Mov_rm32_r32 => form(None, (Code::Mov_rm32_imm32, OpKind::Immediate32)),
                Code::Mov_rm64_r64 => form(None, (Code::Mov_rm64_imm32, OpKind::Immediate32to64)),
                _ => None,
            }
        }

        /// The form for any register of an encoding that is for rax alone.
        pub(super) fn without_accumulator(code: Code) -> Code {
            match code {
                $(
                    Code::$al => Code::$rm8_imm8,
                    Code::$ax => Code::$rm16_imm16,
                    Code::$eax => Code::$rm32_imm32,
                    Code::$rax => Code::$rm64_imm32,
                )*
                Code::Test_AL_imm8 => Code::Test_rm8_imm8,
                Code::Test_AX_imm16 => Code::Test_rm16_imm16,
                Code::Test_EAX_imm32 => Code::Test_rm32_imm32,
                Code::Test_RAX_imm32 => Code::Test_rm64_imm32,
                other => other,
            }
        }
    };
}

tables! {
    Add_rm8_r8 Add_r8_rm8 Add_rm8_imm8 Add_AL_imm8,
    Add_rm16_r16 Add_r16_rm16 Add_rm16_imm8 Add_rm16_imm16 Add_AX_imm16,
    Add_rm32_r32 Add_r32_rm32 Add_rm32_imm8 Add_rm32_imm32 Add_EAX_imm32,
    Add_rm64_r64 Add_r64_rm64 Add_rm64_imm8 Add_rm64_imm32 Add_RAX_imm32;
    Or_rm8_r8 Or_r8_rm8 Or_rm8_imm8 Or_AL_imm8,
    Or_rm16_r16 Or_r16_rm16 Or_rm16_imm8 Or_rm16_imm16 Or_AX_imm16,
    Or_rm32_r32 Or_r32_rm32 Or_rm32_imm8 Or_rm32_imm32 Or_EAX_imm32,
    Or_rm64_r64 Or_r64_rm64 Or_rm64_imm8 Or_rm64_imm32 Or_RAX_imm32;
    Adc_rm8_r8 Adc_r8_rm8 Adc_rm8_imm8 Adc_AL_imm8,
    Adc_rm16_r16 Adc_r16_rm16 Adc_rm16_imm8 Adc_rm16_imm16 Adc_AX_imm16,
    Adc_rm32_r32 Adc_r32_rm32 Adc_rm32_imm8 Adc_rm32_imm32 Adc_EAX_imm32,
    Adc_rm64_r64 Adc_r64_rm64 Adc_rm64_imm8 Adc_rm64_imm32 Adc_RAX_imm32;
    Sbb_rm8_r8 Sbb_r8_rm8 Sbb_rm8_imm8 Sbb_AL_imm8,
    Sbb_rm16_r16 Sbb_r16_rm16 Sbb_rm16_imm8 Sbb_rm16_imm16 Sbb_AX_imm16,
    Sbb_rm32_r32 Sbb_r32_rm32 Sbb_rm32_imm8 Sbb_rm32_imm32 Sbb_EAX_imm32,
    Sbb_rm64_r64 Sbb_r64_rm64 Sbb_rm64_imm8 Sbb_rm64_imm32 Sbb_RAX_imm32;
    And_rm8_r8 And_r8_rm8 And_rm8_imm8 And_AL_imm8,
    And_rm16_r16 And_r16_rm16 And_rm16_imm8 And_rm16_imm16 And_AX_imm16,
    And_rm32_r32 And_r32_rm32 And_rm32_imm8 And_rm32_imm32 And_EAX_imm32,
    And_rm64_r64 And_r64_rm64 And_rm64_imm8 And_rm64_imm32 And_RAX_imm32;
    Sub_rm8_r8 Sub_r8_rm8 Sub_rm8_imm8 Sub_AL_imm8,
    Sub_rm16_r16 Sub_r16_rm16 Sub_rm16_imm8 Sub_rm16_imm16 Sub_AX_imm16,
    Sub_rm32_r32 Sub_r32_rm32 Sub_rm32_imm8 Sub_rm32_imm32 Sub_EAX_imm32,
    Sub_rm64_r64 Sub_r64_rm64 Sub_rm64_imm8 Sub_rm64_imm32 Sub_RAX_imm32;
    Xor_rm8_r8 Xor_r8_rm8 Xor_rm8_imm8 Xor_AL_imm8,
    Xor_rm16_r16 Xor_r16_rm16 Xor_rm16_imm8 Xor_rm16_imm16 Xor_AX_imm16,
    Xor_rm32_r32 Xor_r32_rm32 Xor_rm32_imm8 Xor_rm32_imm32 Xor_EAX_imm32,
    Xor_rm64_r64 Xor_r64_rm64 Xor_rm64_imm8 Xor_rm64_imm32 Xor_RAX_imm32;
    Cmp_rm8_r8 Cmp_r8_rm8 Cmp_rm8_imm8 Cmp_AL_imm8,
    Cmp_rm16_r16 Cmp_r16_rm16 Cmp_rm16_imm8 Cmp_rm16_imm16 Cmp_AX_imm16,
    Cmp_rm32_r32 Cmp_r32_rm32 Cmp_rm32_imm8 Cmp_rm32_imm32 Cmp_EAX_imm32,
    Cmp_rm64_r64 Cmp_r64_rm64 Cmp_rm64_imm8 Cmp_rm64_imm32 Cmp_RAX_imm32;
}

/// Puts the constant `value` in place of operand 1, a register, if the instruction has a form for that.
pub(super) fn with_immediate(instruction: &iced_x86::Instruction, value: u64) -> Option<iced_x86::Instruction> {
    let form = immediate_form(instruction.code())?;
    let size = instruction.op1_register().size();
    let signed = sign_extended(value, size);
    let (code, kind) = match form.short {
        Some(short) if i8::try_from(signed).is_ok() => short,
        _ => form.full,
    };
    let signed = i32::try_from(signed).ok()?;
    let mut changed = *instruction;
    changed.set_code(code);
    changed.set_op1_register(Register::None);
    changed.set_op1_kind(kind);
    changed.try_set_immediate_i32(1, signed).ok()?;
    Some(changed)
}

/// The low `size` bytes of `value` as a signed number.
pub(super) fn sign_extended(value: u64, size: usize) -> i64 {
    let shift = 64 - 8 * size as u32;
    (value << shift) as i64 >> shift
}
