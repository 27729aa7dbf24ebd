//! What memory an instruction addresses, implicit operands included.

use iced_x86::{Code, OpAccess, OpKind, Register, UsedMemory};
use machine::Gpr;

use super::info::{reads, with_info, writes};
use crate::decode::{Instruction, Segment, gpr};

/// One memory operand: `size` bytes at `segment base + base + index * scale + displacement`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryOperand {
    /// Base register.
    pub base: Option<Gpr>,
    /// Index register.
    pub index: Option<Gpr>,
    /// Factor of the index: 1, 2, 4 or 8.
    pub scale: u8,
    /// Constant part; the absolute address if the operand is RIP-relative.
    pub displacement: i64,
    /// FS or GS.
    pub segment: Option<Segment>,
    /// Bytes accessed; for a REP instruction those of one step; 0 where the instruction doesn't tell (xsave).
    pub size: u32,
    /// Whether it is read, perhaps depending on a condition.
    pub read: bool,
    /// Whether it is written, perhaps depending on a condition.
    pub write: bool,
    /// What push, pop, call and ret address through rsp. `displacement` then counts from rsp before the instruction.
    pub stack: bool,
    /// The sum is cut to 32 bits before the segment's base is added.
    pub address_32: bool,
    /// The index is the lowest byte of its register, without its sign (xlat).
    pub index_8: bool,
    /// The address isn't just this sum: the index is a vector register (gather, scatter). See [`Instruction::elements`].
    pub inexact: bool,
}

/// An instruction's memory operands, explicit ones first.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryOperands {
    all: [MemoryOperand; Self::MAX],
    count: u8,
}

impl MemoryOperands {
    /// No instruction of interest has more; `enter` with nesting is cut.
    pub const MAX: usize = 4;
}

impl std::ops::Deref for MemoryOperands {
    type Target = [MemoryOperand];

    fn deref(&self) -> &[MemoryOperand] {
        &self.all[..usize::from(self.count)]
    }
}

/// Operand of an indirect jump or call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndirectOperand {
    /// The target is in a register.
    Register(Gpr),
    /// The target is in memory.
    Memory(MemoryOperand),
}

impl Instruction {
    /// Whether it may write memory.
    pub fn writes_memory(&self) -> bool {
        self.memory_operands().iter().any(|operand| operand.write)
    }

    /// The memory that it accesses; none for `lea`, `nop` and prefetches.
    pub fn memory_operands(&self) -> MemoryOperands {
        with_info(self, |info| {
            let mut operands = MemoryOperands::default();
            for used in info.used_memory() {
                let at = usize::from(operands.count);
                if used.access() == OpAccess::NoMemAccess || at == MemoryOperands::MAX {
                    continue;
                }
                operands.all[at] = memory_operand(used);
                operands.all[at].size = self.memory_size_of_step(used);
                operands.all[at].stack = used.base() == Register::RSP && !self.is_explicit(used);
                operands.count += 1;
            }
            operands
        })
    }

    /// Operand of an indirect jump or call, `None` for any other instruction.
    pub fn indirect_operand(&self) -> Option<IndirectOperand> {
        if !self.iced.is_jmp_near_indirect() && !self.iced.is_call_near_indirect() {
            return None;
        }
        match self.iced.op0_kind() {
            OpKind::Register => gpr(self.iced.op0_register()).map(IndirectOperand::Register),
            _ => self.memory_operands().first().copied().map(IndirectOperand::Memory),
        }
    }

    /// Whether this is `pop [rsp + x]`, which computes the address after rsp has moved.
    pub(crate) fn pops_to_stack(&self) -> bool {
        matches!(self.iced.code(), Code::Pop_rm64 | Code::Pop_rm16) && self.iced.memory_base() == Register::RSP
    }

    /// Bytes accessed, of a REP instruction those of one step: iced gives no size for it, because the count decides.
    pub(super) fn memory_size_of_step(&self, used: &UsedMemory) -> u32 {
        let size = if self.is_rep() { self.iced.memory_size() } else { used.memory_size() };
        size.size() as u32
    }

    /// Whether `used` comes from the instruction's own memory operand, and not from its use of the stack.
    pub(super) fn is_explicit(&self, used: &UsedMemory) -> bool {
        let mut displacement = self.iced.memory_displacement64();
        if self.pops_to_stack() {
            displacement = displacement.wrapping_add(self.iced.memory_size().size() as u64);
        }
        self.iced.op_kinds().any(|kind| kind == OpKind::Memory)
            && used.base() == self.iced.memory_base()
            && used.index() == self.iced.memory_index()
            && used.displacement() == displacement
    }
}

fn memory_operand(used: &UsedMemory) -> MemoryOperand {
    let rip_relative = matches!(used.base(), Register::RIP | Register::EIP);
    let index_8 = used.index() == Register::AL;
    let is_general = used.index() == Register::None || used.index().is_gpr();
    let access = used.access();
    MemoryOperand {
        base: if rip_relative { None } else { gpr(used.base()) },
        index: if is_general { gpr(used.index()) } else { None },
        scale: used.scale() as u8,
        displacement: used.displacement() as i64,
        segment: Segment::from_iced(used.segment()),
        size: used.memory_size().size() as u32,
        read: reads(access),
        write: writes(access),
        stack: false,
        address_32: used.address_size() == iced_x86::CodeSize::Code32 && !rip_relative,
        index_8,
        inexact: !is_general,
    }
}
