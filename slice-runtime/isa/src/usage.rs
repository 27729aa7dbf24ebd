//! Which registers and flags an instruction reads, writes and certainly replaces.

mod common;

use std::cell::RefCell;

use iced_x86::{Code as Opcode, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register, RflagsBits};
use machine::{Gpr, flags};

use crate::instruction::Instruction;
use crate::kind::Kind;
use crate::operands::gpr;

/// Register sets have one bit for each [`Gpr`], flag sets the bits of `rflags`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// General registers of which any part may be read, addresses included.
    pub gpr_read: u16,
    /// General registers of which any part may be written.
    pub gpr_written: u16,
    /// General registers that certainly get a new 64-bit value, which doesn't depend on the old one.
    pub gpr_killed: u16,
    /// Flags that may be read.
    pub flags_read: u64,
    /// Flags that may change, be it to an undefined value.
    pub flags_written: u64,
    /// Flags that certainly get a value that doesn't depend on the old one. A flag that an instruction leaves
    /// undefined isn't in this set unless every CPU is known to compute it: some CPUs keep the old value.
    pub flags_killed: u64,
    /// Whether it may raise a signal: by memory access, division or as a trap. Floating-point exceptions
    /// don't count: they are masked in nearly every process.
    pub may_fault: bool,
}

thread_local! {
    /// The factory's vectors are kept: no allocation for each instruction.
    static FACTORY: RefCell<InstructionInfoFactory> = RefCell::new(InstructionInfoFactory::new());
}

/// Calls `f` with what iced knows about registers and memory that `instruction` uses.
pub(crate) fn with_info<R>(instruction: &Instruction, f: impl FnOnce(&iced_x86::InstructionInfo) -> R) -> R {
    with_iced_info(&instruction.iced, f)
}

/// The same for an instruction that isn't the app's.
pub(crate) fn with_iced_info<R>(iced: &iced_x86::Instruction, f: impl FnOnce(&iced_x86::InstructionInfo) -> R) -> R {
    FACTORY.with_borrow_mut(|factory| f(factory.info(iced)))
}

/// A general register outside `used` (one bit for each), never rsp. Prefers those that need no REX prefix.
pub fn free_gpr(used: u16) -> Option<Gpr> {
    Gpr::ALL.into_iter().find(|&r| r != Gpr::Rsp && used & (1 << r as u16) == 0)
}

impl Instruction {
    /// Which registers and flags it uses.
    pub fn usage(&self) -> Usage {
        let mut usage = common::registers(&self.iced).unwrap_or_else(|| asked(&self.iced));
        if matches!(self.iced.mnemonic(), Mnemonic::Rdsspd | Mnemonic::Rdsspq) {
            // It does nothing where there is no shadow stack.
            usage.gpr_read |= usage.gpr_written;
        }
        usage.gpr_killed &= !usage.gpr_read;
        usage.may_fault |= matches!(self.iced.mnemonic(), Mnemonic::Div | Mnemonic::Idiv)
            || self.iced.is_privileged()
            || matches!(self.kind(), Kind::Trap);
        self.add_flags(&mut usage);
        usage
    }

    fn add_flags(&self, usage: &mut Usage) {
        usage.flags_read = rflags(self.iced.rflags_read());
        usage.flags_written = rflags(self.iced.rflags_modified());
        let certain = self.iced.rflags_written() | self.iced.rflags_cleared() | self.iced.rflags_set();
        usage.flags_killed = rflags(certain);
        match self.iced.mnemonic() {
            // AF is "undefined" after these; every CPU clears it.
            Mnemonic::And | Mnemonic::Or | Mnemonic::Xor | Mnemonic::Test => {
                usage.flags_killed |= usage.flags_written & flags::AF;
            }
            Mnemonic::Pushf | Mnemonic::Pushfd | Mnemonic::Pushfq | Mnemonic::Syscall => {
                usage.flags_read |= flags::VISIBLE;
            }
            _ if self.shift_may_keep_flags() || self.is_rep() => usage.flags_killed = 0,
            _ => {}
        }
    }

    /// A count of zero leaves all flags as they are, and a count beyond a narrow operand leaves undefined ones.
    fn shift_may_keep_flags(&self) -> bool {
        use Mnemonic::{Rcl, Rcr, Rol, Ror, Sal, Sar, Shl, Shld, Shr, Shrd};
        if !matches!(self.iced.mnemonic(), Rcl | Rcr | Rol | Ror | Sal | Sar | Shl | Shld | Shr | Shrd) {
            return false;
        }
        let last = self.iced.op_count() - 1;
        let variable = self.iced.op_kind(last) == OpKind::Register;
        let narrow = match self.iced.op0_kind() {
            OpKind::Register => self.iced.op0_register().size() < 4,
            _ => self.iced.memory_size().size() < 4,
        };
        variable || narrow
    }

    /// A register that can serve as the base in [`crate::Code::copy_with_base`]: outside `avoid`, not used by the
    /// instruction, and one that its encoding can name.
    pub fn scratch_for_operand(&self, avoid: u16) -> Option<Gpr> {
        let usage = self.usage();
        let unnameable = if self.uses_high_byte() { 0xff00 } else { 0 };
        free_gpr(usage.gpr_read | usage.gpr_written | unnameable | avoid)
    }
}

/// The registers that an instruction uses and whether it accesses memory, as iced says.
fn asked(iced: &iced_x86::Instruction) -> Usage {
    with_iced_info(iced, |info| {
        let mut usage = Usage::default();
        for used in info.used_registers() {
            add_register(&mut usage, used.register(), used.access());
        }
        usage.may_fault = info.used_memory().iter().any(|m| m.access() != OpAccess::NoMemAccess);
        usage
    })
}

fn add_register(usage: &mut Usage, register: Register, access: OpAccess) {
    let Some(r) = gpr(register) else { return };
    let bit = 1 << r as u16;
    let (read, written) = match access {
        OpAccess::None | OpAccess::NoMemAccess => (false, false),
        OpAccess::Read | OpAccess::CondRead => (true, false),
        OpAccess::Write | OpAccess::CondWrite => (false, true),
        OpAccess::ReadWrite | OpAccess::ReadCondWrite => (true, true),
    };
    if read {
        usage.gpr_read |= bit;
    }
    if written {
        usage.gpr_written |= bit;
    }
    // A write to 32 bits clears the upper half.
    if access == OpAccess::Write && register.size() >= 4 {
        usage.gpr_killed |= bit;
    }
}

pub(crate) fn rflags(iced: u32) -> u64 {
    // Without branches, which nothing would predict.
    const MAP: [(u32, u64); 8] = [
        (RflagsBits::OF, flags::OF),
        (RflagsBits::SF, flags::SF),
        (RflagsBits::ZF, flags::ZF),
        (RflagsBits::AF, flags::AF),
        (RflagsBits::CF, flags::CF),
        (RflagsBits::PF, flags::PF),
        (RflagsBits::DF, flags::DF),
        (RflagsBits::AC, flags::AC),
    ];
    MAP.iter().fold(0, |all, &(bit, flag)| all + u64::from(iced & bit != 0) * flag)
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
