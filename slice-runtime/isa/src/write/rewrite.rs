//! App instructions into the cache: as they are, or with another memory operand.

use iced_x86::{Code as Opcode, Encoder, OpKind, Register};
use machine::Gpr;

use super::code::{Code, Fixup};
use super::encode::Address;
use crate::decode::{Instruction, MAX_LEN, Segment, gpr};
use crate::facts::MemoryOperand;

impl Code {
    /// Copies an instruction's bytes. It must not have a RIP-relative operand.
    pub fn copy(&mut self, instruction: &Instruction) {
        debug_assert!(instruction.rip_target().is_none(), "{instruction:?} means something else elsewhere");
        self.put_instruction(&instruction.bytes, instruction.len());
    }

    /// Copies an instruction with a RIP-relative operand so that it names the same address. Writes nothing and
    /// returns false if that is out of reach.
    #[must_use]
    pub fn copy_rip_relative(&mut self, instruction: &Instruction) -> bool {
        let Some(target) = instruction.rip_target() else { return false };
        if instruction.iced.memory_base() == Register::EIP {
            return false;
        }
        let distance = target.wrapping_sub(self.here().0 + instruction.len() as u64) as i64;
        let Ok(displacement) = i32::try_from(distance) else { return false };
        let at = self.bytes.len() + usize::from(instruction.rip_displacement_at);
        self.put_instruction(&instruction.bytes, instruction.len());
        self.bytes[at..at + 4].copy_from_slice(&displacement.to_le_bytes());
        true
    }

    /// Copies an instruction with a RIP-relative operand so that it names the same address without a register. Writes
    /// nothing and returns false if the address isn't below 2 GiB.
    #[must_use]
    pub fn copy_absolute(&mut self, instruction: &Instruction) -> bool {
        let Some(displacement) = instruction.rip_target().and_then(|target| i32::try_from(target).ok()) else {
            return false;
        };
        let at = usize::from(instruction.rip_displacement_at);
        let bytes = instruction.bytes();
        let mut changed = [0; MAX_LEN + 1];
        // ModRM names SIB instead of RIP, SIB neither base nor index.
        changed[..at].copy_from_slice(&bytes[..at]);
        changed[at - 1] = bytes[at - 1] & !7 | 4;
        changed[at] = 0x25;
        changed[at + 1..at + 5].copy_from_slice(&displacement.to_le_bytes());
        changed[at + 5..=bytes.len()].copy_from_slice(&bytes[at + 4..]);
        let changed = &changed[..=bytes.len()];
        // Prefixes whose index bit RIP-relative addressing ignores would name an index.
        let is_same = Instruction::decode(changed, instruction.pc()).is_ok_and(|other| {
            let memory = other.iced;
            let registers = (memory.memory_base(), memory.memory_index());
            other.len() == changed.len()
                && memory.code() == instruction.iced.code()
                && registers == (Register::None, Register::None)
                && memory.memory_displacement64() == displacement as u64
        });
        if is_same {
            self.put(changed);
        }
        is_same
    }

    /// Copies an instruction with its explicit memory operand replaced by `[base]`, without segment override. Returns
    /// false and writes nothing if there is none such, or if the encoding can't name `base`
    /// (see [`Instruction::scratch_for_operand`]).
    #[must_use]
    pub fn copy_with_base(&mut self, instruction: &Instruction, base: Gpr) -> bool {
        if !instruction.has_replaceable_operand() {
            return false;
        }
        let mut changed = instruction.iced;
        changed.set_code(without_moffs(changed.code()));
        changed.set_segment_prefix(Register::None);
        changed.set_memory_base(register_64(base));
        changed.set_memory_index(Register::None);
        changed.set_memory_index_scale(1);
        changed.set_memory_displacement64(0);
        changed.set_memory_displ_size(0);
        self.encode(&changed)
    }

    /// Copies one step of a repeated string instruction: the same without its prefix.
    pub fn copy_step(&mut self, instruction: &Instruction) {
        // Nothing but prefixes comes before the opcode, which is none of these.
        let bytes = instruction.bytes();
        let is_prefix = |byte: &u8| matches!(byte, 0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf2 | 0xf3);
        let prefixes = bytes.iter().take_while(|byte| is_prefix(byte)).count();
        let kept: Vec<u8> = bytes[..prefixes].iter().copied().filter(|byte| !matches!(byte, 0xf2 | 0xf3)).collect();
        self.put(&kept);
        self.put(&bytes[prefixes..]);
    }

    /// `dst` = address of the explicit memory operand (or a string instruction's), without the segment's base.
    pub fn lea_operand(&mut self, dst: Gpr, instruction: &Instruction) {
        let address = operand_address(instruction);
        match (address.base, address.index) {
            (None, None) => self.mov_imm(dst, address.displacement as u64),
            _ => self.lea_address(dst, &address),
        }
    }

    /// `dst` = address of a memory operand as its registers say, without the segment's base and without an index that
    /// [`MemoryOperand::inexact`] operands leave out.
    pub fn lea_memory(&mut self, dst: Gpr, operand: &MemoryOperand) {
        let short = operand.address_32;
        match (operand.base, operand.index) {
            (None, None) if short => self.mov_imm(dst, u64::from(operand.displacement as u32)),
            (None, None) => self.mov_imm(dst, operand.displacement as u64),
            (base, index) => {
                let displacement = i64::from(operand.displacement as i32);
                self.lea_address(
                    dst,
                    &Address { base, index, scale: operand.scale, displacement, short, segment: None },
                );
            }
        }
    }

    /// `dst` = target of an indirect near jump or call. A GS-relative operand isn't understood: take
    /// [`Code::lea_operand`], add the app's GS base and load from there.
    pub fn load_branch_target(&mut self, dst: Gpr, instruction: &Instruction) {
        if let OpKind::Register = instruction.iced.op0_kind() {
            let src = gpr(instruction.iced.op0_register()).expect("branch targets are general registers");
            self.mov(dst, src);
            return;
        }
        debug_assert!(instruction.segment() != Some(Segment::Gs), "{instruction:?}");
        let mut address = operand_address(instruction);
        address.segment = instruction.segment();
        if address.base.is_none() && address.index.is_none() && i32::try_from(address.displacement).is_err() {
            self.mov_imm(dst, address.displacement as u64);
            address = Address { base: Some(dst), segment: address.segment, ..Address::default() };
        }
        self.load_address(dst, &address);
    }

    /// `loop`, `loope`, `loopne`, `jrcxz` or `jecxz` to a target that is bound later.
    pub fn count_branch(&mut self, instruction: &Instruction) -> Fixup {
        self.put_instruction(&instruction.bytes, instruction.len());
        let last = self.bytes.len() - 1;
        self.bytes[last] = 0;
        self.fixup_before_here(1)
    }

    fn encode(&mut self, instruction: &iced_x86::Instruction) -> bool {
        let before = self.bytes.len();
        let mut encoder = Encoder::new(64);
        encoder.set_buffer(std::mem::take(&mut self.bytes));
        let encoded = encoder.encode(instruction, self.base.0 + before as u64).is_ok();
        self.bytes = encoder.take_buffer();
        if !encoded {
            self.bytes.truncate(before);
        }
        encoded
    }
}

/// The explicit memory operand's address without the segment's base.
fn operand_address(instruction: &Instruction) -> Address {
    let register = |r: Register| gpr(r);
    let string = |r: Gpr, short: bool| Address { base: Some(r), short, ..Address::default() };
    for kind in instruction.iced.op_kinds() {
        match kind {
            OpKind::MemorySegRSI => return string(Gpr::Rsi, false),
            OpKind::MemorySegESI => return string(Gpr::Rsi, true),
            OpKind::MemorySegRDI => return string(Gpr::Rdi, false),
            OpKind::MemorySegEDI => return string(Gpr::Rdi, true),
            _ => {}
        }
    }
    let base = instruction.iced.memory_base();
    let index = instruction.iced.memory_index();
    let absolute = instruction.iced.is_ip_rel_memory_operand();
    let short = !absolute && (base.size() == 4 || index.size() == 4);
    let mut displacement = instruction.iced.memory_displacement64() as i64;
    if instruction.pops_to_stack() {
        displacement += instruction.iced.memory_size().size() as i64;
    }
    Address {
        base: if absolute { None } else { register(base) },
        index: register(index),
        scale: instruction.iced.memory_index_scale() as u8,
        // With 32-bit arithmetic iced gives the displacement zero-extended; encoded, it is sign-extended.
        displacement: if short { i64::from(displacement as i32) } else { displacement },
        short,
        segment: None,
    }
}

/// The form with a ModRM byte of a `mov` whose address is part of the instruction.
fn without_moffs(code: Opcode) -> Opcode {
    if !is_moffs(code) {
        return code;
    }
    match code {
        Opcode::Mov_AL_moffs8 => Opcode::Mov_r8_rm8,
        Opcode::Mov_AX_moffs16 => Opcode::Mov_r16_rm16,
        Opcode::Mov_EAX_moffs32 => Opcode::Mov_r32_rm32,
        Opcode::Mov_RAX_moffs64 => Opcode::Mov_r64_rm64,
        Opcode::Mov_moffs8_AL => Opcode::Mov_rm8_r8,
        Opcode::Mov_moffs16_AX => Opcode::Mov_rm16_r16,
        Opcode::Mov_moffs32_EAX => Opcode::Mov_rm32_r32,
        _ => Opcode::Mov_rm64_r64,
    }
}

pub(crate) fn register_64(r: Gpr) -> Register {
    use Register::{R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP};
    [RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15][r as usize]
}

/// Whether an instruction's memory operand is the kind that has an absolute 64-bit address in the instruction.
pub(crate) fn is_moffs(code: Opcode) -> bool {
    matches!(
        code,
        Opcode::Mov_AL_moffs8
            | Opcode::Mov_AX_moffs16
            | Opcode::Mov_EAX_moffs32
            | Opcode::Mov_RAX_moffs64
            | Opcode::Mov_moffs8_AL
            | Opcode::Mov_moffs16_AX
            | Opcode::Mov_moffs32_EAX
            | Opcode::Mov_moffs64_RAX
    )
}
