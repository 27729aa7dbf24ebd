//! Which registers and flags an instruction reads, writes and certainly replaces.

use iced_x86::{Mnemonic, OpAccess, OpKind};
use machine::{Gpr, flags};

use super::common;
use super::info::{Usage, add_register, rflags, with_iced_info};
use crate::decode::{Instruction, Kind};

/// A general register outside `used` (one bit for each), never rsp. Prefers those that need no REX prefix.
pub fn free_gpr(used: u16) -> Option<Gpr> {
    Gpr::ALL.into_iter().find(|&r| r != Gpr::Rsp && used & (1 << r as u16) == 0)
}

impl Instruction {
    /// Which registers and flags it uses.
    pub fn usage(&self) -> Usage {
        if self.is_replaced() {
            return Usage::default();
        }
        let mut usage = common::registers(&self.iced).unwrap_or_else(|| asked(&self.iced));
        if matches!(self.iced.mnemonic(), Mnemonic::Rdsspd | Mnemonic::Rdsspq) {
            // It does nothing where there is no shadow stack.
            usage.gpr_read |= usage.gpr_written;
        }
        usage.gpr_killed &= !usage.gpr_read;
        // Without access to memory: the entrance to enclaves, and those that wait, refuse what registers ask for before they set flags.
        usage.may_fault |= matches!(self.iced.mnemonic(), Mnemonic::Div | Mnemonic::Idiv)
            || matches!(self.iced.mnemonic(), Mnemonic::Enclu | Mnemonic::Tpause | Mnemonic::Umwait)
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
pub(super) fn asked(iced: &iced_x86::Instruction) -> Usage {
    with_iced_info(iced, |info| {
        let mut usage = Usage::default();
        for used in info.used_registers() {
            add_register(&mut usage, used.register(), used.access());
        }
        usage.may_fault = info.used_memory().iter().any(|m| m.access() != OpAccess::NoMemAccess);
        usage
    })
}
