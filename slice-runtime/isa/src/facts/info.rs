//! What iced knows of an instruction, and what becomes of it.

use std::cell::RefCell;

use iced_x86::{InstructionInfoFactory, OpAccess, Register, RflagsBits};
use machine::flags;

use crate::decode::{Instruction, gpr};

/// Register sets have one bit for each [`machine::Gpr`], flag sets the bits of `rflags`.
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

pub(super) fn add_register(usage: &mut Usage, register: Register, access: OpAccess) {
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

/// Whether an access may read.
pub(super) fn reads(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

/// Whether an access may write.
pub(super) fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
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
