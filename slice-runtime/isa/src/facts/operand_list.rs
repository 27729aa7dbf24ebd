//! An instruction's operands, explicit and implicit, and the registers that it uses.

use iced_x86::{CodeSize, InstructionInfo, Mnemonic, OpAccess, OpKind, Register as Iced, UsedMemory};
use machine::{AppPc, Gpr};

use super::info::{reads, with_info, writes};
use super::operands::MemoryOperand;
use super::register::{Register, RegisterSet, SegmentRegister};
use crate::decode::{Instruction, Kind, Segment};

/// What an operand is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandKind {
    /// A register or a part of it, by the name of its full width.
    Register(Register),
    /// The memory operand with this index in [`Instruction::memory_operands`].
    Memory(usize),
    /// An address that is computed without accessing memory there: of `lea`, prefetches and long `nop`s.
    Address(MemoryOperand),
    /// A constant, sign-extended as the instruction does it.
    Immediate(u64),
    /// Where a direct branch or call goes.
    BranchTarget(AppPc),
}

/// An operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// What it is.
    pub kind: OperandKind,
    /// Bytes that are used: 1 of `al` and `ah`, 16 of `xmm0`; of memory those of [`MemoryOperand::size`], 8 for an address or a target.
    pub size: u32,
    /// Whether it is the second byte of its register: `ah`, `bh`, `ch` or `dh`.
    pub high: bool,
    /// Whether it is read, perhaps depending on a condition or a mask. Immediates and targets are.
    pub read: bool,
    /// Whether it is written, perhaps depending on a condition or a mask.
    pub write: bool,
    /// Whether the instruction has it without naming it: the stack of `push`, `rdx` of `mul`, the flags.
    pub implicit: bool,
}

impl Operand {
    fn new(kind: OperandKind, size: u32, access: OpAccess) -> Operand {
        let (read, write) = (reads(access), writes(access));
        Operand { kind, size, high: false, read, write, implicit: false }
    }
}

impl Instruction {
    /// Its operands: explicit ones in the order of Intel's manuals (what is written comes first mostly), then implicit ones. A register that an address is computed
    /// of isn't an operand of its own.
    pub fn operands(&self) -> Vec<Operand> {
        let mut all = with_info(self, |info| {
            let explicit = |n| self.explicit_operand(info, n);
            (0..self.iced.op_count()).filter_map(explicit).collect::<Vec<Operand>>()
        });
        let implicit = |kind, size, read, write| Operand { kind, size, high: false, read, write, implicit: true };
        for (n, memory) in self.memory_operands().iter().enumerate() {
            let kind = OperandKind::Memory(n);
            if !all.iter().any(|operand| operand.kind == kind) {
                all.push(implicit(kind, memory.size, memory.read, memory.write));
            }
        }
        let (read, written) = (self.registers_read(), self.registers_written());
        let addresses = self.address_registers();
        for register in read.union(written).iter() {
            let named = |way: fn(&Operand) -> bool| {
                all.iter().any(|operand| operand.kind == OperandKind::Register(register) && way(operand))
            };
            let reads = read.contains(register) && !named(|o| o.read) && !addresses.contains(register);
            let writes = written.contains(register) && !named(|o| o.write);
            if reads || writes {
                let reads = reads || writes && read.contains(register) && !named(|o| o.read);
                all.push(implicit(OperandKind::Register(register), size_of_implicit(register), reads, writes));
            }
        }
        all
    }

    /// The registers that it reads, implicit ones and those of addresses among them: the instruction pointer of direct branches and of operands relative to it, the flags
    /// if it reads any of them. What is read depending on a condition or a mask is in it, and what is only merged into (`mov %al,…` of `rax`) isn't.
    ///
    /// What the kernel or a whole save (`xsave`) reads isn't told.
    pub fn registers_read(&self) -> RegisterSet {
        self.used(reads, |set| {
            if self.iced.rflags_read() != 0 || matches!(self.iced.mnemonic(), Mnemonic::Pushf | Mnemonic::Pushfq) {
                set.insert(Register::Flags);
            }
            let relative = matches!(
                self.kind(),
                Kind::Jump { .. }
                    | Kind::Branch { .. }
                    | Kind::CountBranch { .. }
                    | Kind::Call { .. }
                    | Kind::CallIndirect
                    | Kind::Syscall
                    | Kind::XBegin { .. }
            );
            if relative || self.iced.is_ip_rel_memory_operand() {
                set.insert(Register::Ip);
            }
        })
    }

    /// The registers that it writes any part of, implicit ones among them: the instruction pointer of branches, calls and returns, the flags if it may change any of
    /// them, be it to an undefined value.
    pub fn registers_written(&self) -> RegisterSet {
        self.used(writes, |set| {
            if self.iced.rflags_modified() != 0 {
                set.insert(Register::Flags);
            }
            let goes_on = matches!(
                self.kind(),
                Kind::Plain
                    | Kind::Trap
                    | Kind::Nondeterministic(_)
                    | Kind::SegmentBase { .. }
                    | Kind::SelectorLoad { .. }
                    | Kind::Unsupported(_)
            );
            if !goes_on {
                set.insert(Register::Ip);
            }
        })
    }

    fn used(&self, wanted: fn(OpAccess) -> bool, more: impl FnOnce(&mut RegisterSet)) -> RegisterSet {
        let mut set = with_info(self, |info| {
            let used = info.used_registers().iter().filter(|used| wanted(used.access()));
            used.filter_map(|used| Register::from_iced(used.register())).collect::<RegisterSet>()
        });
        if let Kind::SegmentBase { write, segment, .. } = self.kind()
            && wanted(if write { OpAccess::Write } else { OpAccess::Read })
        {
            let segment = if segment == Segment::Fs { SegmentRegister::Fs } else { SegmentRegister::Gs };
            set.insert(Register::Segment(segment));
        }
        let mxcsr = match self.iced.mnemonic() {
            Mnemonic::Ldmxcsr | Mnemonic::Vldmxcsr => OpAccess::Write,
            Mnemonic::Stmxcsr | Mnemonic::Vstmxcsr => OpAccess::Read,
            _ => OpAccess::None,
        };
        if wanted(mxcsr) {
            set.insert(Register::Mxcsr);
        }
        more(&mut set);
        set
    }

    /// The registers that addresses are computed of, segments among them.
    fn address_registers(&self) -> RegisterSet {
        with_info(self, |info| {
            let parts = |used: &UsedMemory| [used.base(), used.index(), used.segment()];
            let mut set: RegisterSet =
                info.used_memory().iter().flat_map(parts).filter_map(Register::from_iced).collect();
            let [base, index] = [self.iced.memory_base(), self.iced.memory_index()];
            [base, index].into_iter().filter_map(Register::from_iced).for_each(|register| set.insert(register));
            set
        })
    }

    fn explicit_operand(&self, info: &InstructionInfo, n: u32) -> Option<Operand> {
        let access = info.op_access(n);
        Some(match self.iced.op_kind(n) {
            OpKind::Register => {
                let register = self.iced.op_register(n);
                let high = matches!(register, Iced::AH | Iced::BH | Iced::CH | Iced::DH);
                let kind = OperandKind::Register(Register::from_iced(register)?);
                Operand { high, ..Operand::new(kind, register.size() as u32, access) }
            }
            OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => {
                Operand::new(OperandKind::BranchTarget(AppPc(self.iced.near_branch_target())), 8, OpAccess::Read)
            }
            OpKind::FarBranch16 | OpKind::FarBranch32 => return None,
            kind if immediate_size(kind) != 0 => {
                let value = OperandKind::Immediate(self.iced.immediate(n));
                Operand::new(value, immediate_size(kind), OpAccess::Read)
            }
            kind => self.explicit_memory(info, kind, access)?,
        })
    }

    /// The operand of a kind that names memory.
    fn explicit_memory(&self, info: &InstructionInfo, kind: OpKind, access: OpAccess) -> Option<Operand> {
        let string = match kind {
            OpKind::MemorySegSI | OpKind::MemorySegESI | OpKind::MemorySegRSI => Some(Gpr::Rsi),
            OpKind::Memory => None,
            _ => Some(Gpr::Rdi),
        };
        let accessed = info.used_memory().iter().filter(|used| used.access() != OpAccess::NoMemAccess);
        let is_it = |used: &UsedMemory| match string {
            Some(base) => Register::from_iced(used.base()) == Some(Register::Gpr(base)),
            None => self.is_explicit(used),
        };
        let operand = |index: usize| {
            let size = self.memory_size_of_step(&accessed.clone().nth(index)?.clone());
            Some(Operand::new(OperandKind::Memory(index), size, access))
        };
        match accessed.clone().position(is_it) {
            Some(index) => operand(index),
            None => {
                let address = MemoryOperand {
                    base: crate::decode::gpr(self.iced.memory_base()).filter(|_| self.rip_target().is_none()),
                    index: crate::decode::gpr(self.iced.memory_index()),
                    scale: self.iced.memory_index_scale() as u8,
                    displacement: self.iced.memory_displacement64() as i64,
                    address_32: self.iced.code_size() != CodeSize::Code64
                        || [self.iced.memory_base(), self.iced.memory_index()].iter().any(|r| r.is_gpr32()),
                    ..MemoryOperand::default()
                };
                Some(Operand::new(OperandKind::Address(address), 8, OpAccess::Read))
            }
        }
    }
}

/// Bytes of an immediate of this kind in the instruction; 0 if it is none.
fn immediate_size(kind: OpKind) -> u32 {
    match kind {
        OpKind::Immediate8 | OpKind::Immediate8_2nd => 1,
        OpKind::Immediate8to16 | OpKind::Immediate8to32 | OpKind::Immediate8to64 => 1,
        OpKind::Immediate16 => 2,
        OpKind::Immediate32 | OpKind::Immediate32to64 => 4,
        OpKind::Immediate64 => 8,
        _ => 0,
    }
}

/// Bytes of a register that is used without being named. How much of it isn't told by all instructions, so it is all.
fn size_of_implicit(register: Register) -> u32 {
    match register {
        Register::Vector(_) => 64,
        Register::X87(_) => 10,
        Register::Mxcsr => 4,
        Register::Segment(_) => 2,
        Register::Tile(_) => 1024,
        Register::Bound(_) => 16,
        _ => 8,
    }
}
