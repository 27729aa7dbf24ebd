//! Reading a routine with some arguments known: what is constant is computed, the rest becomes a template.

use iced_x86::{Code, Instruction as Iced, Mnemonic, OpAccess, OpKind, Register};
use machine::Gpr;

use super::branch::compared;
use super::forms::{sign_extended, with_immediate, without_accumulator};
use super::state::{ARGUMENT_REGISTERS, ARGUMENTS, RoutineState, Value, Way, for_each_register};
use crate::decode::{Instruction, gpr};
use crate::facts::with_info;
use crate::write::register_64;

/// Folds one routine. Templates still name the registers that the compiler chose.
pub(super) struct ConstantFolder {
    pub(super) state: RoutineState,
    /// Whether a way leads to the next instruction: otherwise `state` means nothing.
    pub(super) reached: bool,
    /// Whether there was a branch: constants are loaded from there on, see `ways`.
    pub(super) branched: bool,
    pub(super) ways: Vec<Way>,
    pub(super) templates: Vec<Iced>,
}

impl ConstantFolder {
    pub(super) fn new(known: &[Option<u64>; ARGUMENTS]) -> ConstantFolder {
        let mut values = [Value::Foreign; 16];
        for register in [Gpr::Rax, Gpr::R10, Gpr::R11] {
            values[register as usize] = Value::Undefined;
        }
        for (register, known) in ARGUMENT_REGISTERS.into_iter().zip(known) {
            values[register as usize] = match *known {
                Some(value) => Value::Known { value, loaded: false },
                None => Value::Dynamic,
            };
        }
        let state = RoutineState { values, flags_valid: false, flags: None, frame: false };
        ConstantFolder { state, reached: true, branched: false, ways: Vec::new(), templates: Vec::new() }
    }

    /// The templates, at the routine's end. With `result` they leave its result in rax.
    pub(super) fn end(mut self, result: bool) -> Option<Vec<Iced>> {
        match self.state.values[Gpr::Rax as usize] {
            Value::Foreign | Value::Undefined | Value::Low if result => return None,
            Value::Known { value, loaded: false } if result => self.templates.push(load_constant(Gpr::Rax, value)?),
            _ => {}
        }
        if self.state.frame { None } else { Some(self.templates) }
    }

    /// Makes the template's registers hold all that is known of them. The flags stay as they are.
    pub(super) fn load_constants(&mut self) -> Option<()> {
        Gpr::ALL.into_iter().try_for_each(|r| self.load_constant(r))
    }

    fn load_constant(&mut self, r: Gpr) -> Option<()> {
        if let Value::Known { value, loaded: false } = self.state.values[r as usize] {
            self.templates.push(load_constant(r, value)?);
            self.state.values[r as usize] = Value::Known { value, loaded: true };
        }
        Some(())
    }

    /// Reads an instruction that isn't a branch. `None`: it isn't understood.
    pub(super) fn add(&mut self, instruction: &Instruction) -> Option<()> {
        if self.is_frame_keeping(&instruction.iced) {
            return Some(());
        }
        let mut iced = instruction.iced;
        iced.set_code(without_accumulator(iced.code()));
        if !is_simple(instruction) || (iced.rflags_read() != 0 && !self.state.flags_valid) {
            return None;
        }
        if let Some(folded) = self.fold(&iced) {
            if iced.rflags_modified() != 0 {
                (self.state.flags_valid, self.state.flags) = (false, None);
            }
            return if self.branched { self.load_constant(folded) } else { Some(()) };
        }
        if iced.rflags_modified() != 0 {
            (self.state.flags_valid, self.state.flags) = (true, self.comparison(&iced));
        }
        self.fold_address(&mut iced)?;
        if let Some(value) = self.known_source(&iced)
            && let Some(changed) = with_immediate(&iced, value)
        {
            iced = changed;
        }
        self.load_what_is_read(&iced)?;
        self.note_writes(&iced);
        self.templates.push(iced);
        Some(())
    }

    /// The flags of a comparison of constants.
    fn comparison(&self, iced: &Iced) -> Option<u64> {
        if iced.op_count() != 2 {
            return None;
        }
        compared(iced.mnemonic(), self.operand(iced, 0)?, self.operand(iced, 1)?, operand_size(iced, 0))
    }

    /// `endbr64`, `nop`, and a frame pointer that nothing uses.
    fn is_frame_keeping(&mut self, iced: &Iced) -> bool {
        match iced.code() {
            Code::Endbr64 => true,
            Code::Push_r64 if iced.op0_register() == Register::RBP && !self.state.frame => {
                self.state.frame = true;
                true
            }
            Code::Mov_rm64_r64 | Code::Mov_r64_rm64 => {
                self.state.frame
                    && iced.op0_kind() == OpKind::Register
                    && (iced.op0_register(), iced.op1_register()) == (Register::RBP, Register::RSP)
            }
            Code::Pop_r64 if iced.op0_register() == Register::RBP && self.state.frame => {
                self.state.frame = false;
                true
            }
            _ => iced.mnemonic() == Mnemonic::Nop,
        }
    }

    /// Computes an instruction that depends on constants only and writes one whole register, which it gives.
    fn fold(&mut self, iced: &Iced) -> Option<Gpr> {
        if iced.op0_kind() != OpKind::Register || iced.op0_register().size() < 4 {
            return None;
        }
        let size = iced.op0_register().size();
        let result = self.result(iced, size)?;
        let result = if size == 4 { u64::from(result as u32) } else { result };
        let register = gpr(iced.op0_register())?;
        self.state.values[register as usize] = Value::Known { value: result, loaded: false };
        Some(register)
    }

    fn result(&self, iced: &Iced, size: usize) -> Option<u64> {
        let same =
            iced.op_count() == 2 && iced.op1_kind() == OpKind::Register && iced.op0_register() == iced.op1_register();
        // Shift counts are masked by the operand's size.
        let count = || Some(self.operand(iced, 1)? as u32 & (size as u32 * 8 - 1));
        let signed = |i| Some(sign_extended(self.operand(iced, i)?, operand_size(iced, i)) as u64);
        Some(match iced.mnemonic() {
            Mnemonic::Xor | Mnemonic::Sub if same => 0,
            Mnemonic::Mov => self.operand(iced, 1)?,
            Mnemonic::Lea => self.address(iced)?,
            Mnemonic::Movzx => self.operand(iced, 1)?,
            Mnemonic::Movsx | Mnemonic::Movsxd => signed(1)?,
            Mnemonic::Add => self.operand(iced, 0)?.wrapping_add(self.operand(iced, 1)?),
            Mnemonic::Sub => self.operand(iced, 0)?.wrapping_sub(self.operand(iced, 1)?),
            Mnemonic::And => self.operand(iced, 0)? & self.operand(iced, 1)?,
            Mnemonic::Or => self.operand(iced, 0)? | self.operand(iced, 1)?,
            Mnemonic::Xor => self.operand(iced, 0)? ^ self.operand(iced, 1)?,
            Mnemonic::Shl => self.operand(iced, 0)? << count()?,
            Mnemonic::Shr => self.operand(iced, 0)? >> count()?,
            Mnemonic::Sar => (signed(0)? as i64 >> count()?) as u64,
            Mnemonic::Inc => self.operand(iced, 0)?.wrapping_add(1),
            Mnemonic::Dec => self.operand(iced, 0)?.wrapping_sub(1),
            Mnemonic::Neg => self.operand(iced, 0)?.wrapping_neg(),
            Mnemonic::Not => !self.operand(iced, 0)?,
            Mnemonic::Imul if iced.op_count() == 3 => signed(1)?.wrapping_mul(self.operand(iced, 2)?),
            Mnemonic::Imul if iced.op_count() == 2 => signed(0)?.wrapping_mul(signed(1)?),
            _ => return None,
        })
    }

    /// Value of a register or immediate operand, zero-extended from the operand's size.
    fn operand(&self, iced: &Iced, operand: u32) -> Option<u64> {
        match iced.op_kind(operand) {
            OpKind::Register => {
                let register = iced.op_register(operand);
                match self.state.values[gpr(register)? as usize] {
                    Value::Known { value, .. } => Some(value & (u64::MAX >> (64 - 8 * register.size()))),
                    _ => None,
                }
            }
            OpKind::Memory => None,
            _ => iced.try_immediate(operand).ok(),
        }
    }

    fn known(&self, register: Register) -> Option<u64> {
        match self.state.values[gpr(register)? as usize] {
            Value::Known { value, .. } => Some(value),
            _ => None,
        }
    }

    /// The memory operand's address, if it is known.
    fn address(&self, iced: &Iced) -> Option<u64> {
        if iced.is_ip_rel_memory_operand() {
            return Some(iced.ip_rel_memory_address());
        }
        let mut address = iced.memory_displacement64();
        if iced.memory_base() != Register::None {
            address = address.wrapping_add(self.known(iced.memory_base())?);
        }
        if iced.memory_index() != Register::None {
            let scale = u64::from(iced.memory_index_scale());
            address = address.wrapping_add(self.known(iced.memory_index())?.wrapping_mul(scale));
        }
        Some(address)
    }

    /// Folds what is known of a memory operand: all of it, or the index into the displacement.
    fn fold_address(&self, iced: &mut Iced) -> Option<()> {
        if !iced.op_kinds().any(|kind| kind == OpKind::Memory) {
            return Some(());
        }
        if let Some(address) = self.address(iced) {
            set_memory(iced, Register::RIP, Register::None, address, 8);
        } else if let Some(index) = self.known(iced.memory_index()) {
            let added = index.wrapping_mul(u64::from(iced.memory_index_scale()));
            let displacement = iced.memory_displacement64().wrapping_add(added);
            if i32::try_from(displacement as i64).is_ok() {
                let base = iced.memory_base();
                set_memory(iced, base, Register::None, displacement, 8);
            }
        }
        Some(())
    }

    /// The constant that operand 1 holds, if that is a register which is only read.
    fn known_source(&self, iced: &Iced) -> Option<u64> {
        if iced.op_count() != 2 || iced.op1_kind() != OpKind::Register {
            return None;
        }
        self.known(iced.op1_register())
    }

    /// Makes the template's registers hold what `iced` reads from them.
    fn load_what_is_read(&mut self, iced: &Iced) -> Option<()> {
        // Bits of each: of a write to 8 or 16 bits those that it keeps.
        let mut read = [0; 16];
        let mut low = [false; 16];
        for_each_register(iced, |r, access, size| {
            low[r as usize] |= access == OpAccess::Write && size == 1;
            let bits = if access != OpAccess::Write || size == 2 { 8 * size } else { 0 };
            read[r as usize] = bits.max(read[r as usize]);
        });
        for r in Gpr::ALL {
            match (self.state.values[r as usize], read[r as usize]) {
                (Value::Undefined | Value::Low, 0) | (Value::Low, 8) | (Value::Dynamic, _) => {}
                (Value::Known { .. } | Value::Foreign, 0) if !low[r as usize] => {}
                (Value::Known { .. }, _) => self.load_constant(r)?,
                _ => return None,
            }
        }
        Some(())
    }

    fn note_writes(&mut self, iced: &Iced) {
        for_each_register(iced, |r, access, size| {
            let value = &mut self.state.values[r as usize];
            match (access, *value) {
                (OpAccess::Read | OpAccess::CondRead, _) => {}
                (_, Value::Undefined | Value::Low) if size == 1 => *value = Value::Low,
                _ => *value = Value::Dynamic,
            }
        });
    }
}

/// Whether all that an instruction does is visible in its operands and flags, and those are of a kind that can
/// be renamed: general registers, memory without segment base, immediates.
fn is_simple(instruction: &Instruction) -> bool {
    let iced = &instruction.iced;
    let plain = matches!(instruction.kind(), crate::Kind::Plain)
        && instruction.unrepeatable().is_none()
        && instruction.segment().is_none()
        && !instruction.uses_high_byte()
        && !iced.is_string_instruction()
        && !iced.is_stack_instruction();
    if !plain {
        return false;
    }
    let mut explicit = 0_u16;
    for i in 0..iced.op_count() {
        match iced.op_kind(i) {
            OpKind::Register => match gpr(iced.op_register(i)) {
                Some(r) => explicit |= 1 << r as u16,
                None => return false,
            },
            OpKind::Memory => {
                if iced.memory_base().size() == 4 || iced.memory_index().size() == 4 || iced.is_vsib() {
                    return false;
                }
                for r in [iced.memory_base(), iced.memory_index()].into_iter().filter_map(gpr) {
                    explicit |= 1 << r as u16;
                }
            }
            OpKind::Immediate8
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate32to64
            | OpKind::Immediate64 => {}
            _ => return false,
        }
    }
    const STACK: u16 = 1 << Gpr::Rsp as u16 | 1 << Gpr::Rbp as u16;
    let used = instruction.usage();
    let all_general = with_info(instruction, |info| {
        info.used_registers().iter().all(|u| gpr(u.register()).is_some() || u.register().is_segment_register())
    });
    all_general && (used.gpr_read | used.gpr_written) & !explicit == 0 && explicit & STACK == 0
}

/// Size in bytes of a register or immediate operand.
fn operand_size(iced: &Iced, operand: u32) -> usize {
    match iced.op_kind(operand) {
        OpKind::Register => iced.op_register(operand).size(),
        _ => 8,
    }
}

pub(super) fn set_memory(iced: &mut Iced, base: Register, index: Register, displacement: u64, displacement_size: u32) {
    iced.set_memory_base(base);
    iced.set_memory_index(index);
    iced.set_memory_index_scale(1);
    iced.set_memory_displacement64(displacement);
    iced.set_memory_displ_size(displacement_size);
}

/// `mov r, value`, which leaves the flags alone.
fn load_constant(r: Gpr, value: u64) -> Option<Iced> {
    let wide = register_64(r);
    let narrow = Register::EAX + r as u32;
    if let Ok(small) = u32::try_from(value) {
        Iced::with2(Code::Mov_r32_imm32, narrow, small).ok()
    } else if let Ok(signed) = i32::try_from(value as i64) {
        Iced::with2(Code::Mov_rm64_imm32, wide, signed).ok()
    } else {
        Iced::with2(Code::Mov_r64_imm64, wide, value).ok()
    }
}
