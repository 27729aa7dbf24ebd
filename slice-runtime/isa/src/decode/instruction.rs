//! One decoded app instruction.

use std::fmt;

use iced_x86::{Code as Opcode, Formatter, GasFormatter, Mnemonic, OpKind};
use machine::AppPc;

use super::condition::Condition;
use super::kind::{Kind, Segment};
use super::mnemonics::mnemonics;

/// Bytes of the longest instruction.
pub const MAX_LEN: usize = 15;

/// How a string instruction with a REP prefix repeats: while the count isn't zero, and the condition holds behind each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repetition {
    /// The condition, of those that compare.
    pub wanted: Option<Condition>,
    /// Whether the count is ecx instead of rcx.
    pub counts_32: bool,
}

/// A decoded instruction with its bytes and its address.
#[derive(Clone, Copy)]
pub struct Instruction {
    pub(crate) iced: iced_x86::Instruction,
    /// Its bytes; those behind it mean nothing.
    pub(crate) bytes: [u8; MAX_LEN],
    /// Where in `bytes` the 32-bit displacement of a RIP-relative operand lies; 0 if there is none.
    pub(crate) rip_displacement_at: u8,
    pub(crate) kind: Kind,
}

impl Instruction {
    /// How it can run from a code cache.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The same instruction, by what it says of itself, which only jumps to `target`.
    pub fn replaced_by_jump(self, target: AppPc) -> Self {
        Self { kind: Kind::Jump { target }, ..self }
    }

    /// Whether it is another one that only jumps.
    pub(crate) fn is_replaced(&self) -> bool {
        matches!(self.kind, Kind::Jump { .. }) && self.iced.mnemonic() != Mnemonic::Jmp
    }

    /// Its address.
    pub fn pc(&self) -> AppPc {
        AppPc(self.iced.ip())
    }

    /// The address after it.
    pub fn next_pc(&self) -> AppPc {
        AppPc(self.iced.next_ip())
    }

    /// Its length in bytes.
    #[allow(clippy::len_without_is_empty)] // no instruction is empty
    pub fn len(&self) -> usize {
        self.iced.len()
    }

    /// Its bytes as the app has them.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len()]
    }

    /// Address that a RIP-relative memory operand names.
    pub fn rip_target(&self) -> Option<u64> {
        self.iced.is_ip_rel_memory_operand().then(|| self.iced.ip_rel_memory_address())
    }

    /// FS or GS, if a memory operand is relative to its base. Overrides that mean nothing (on `lea`, `nop` or an
    /// instruction without memory operand) don't count.
    pub fn segment(&self) -> Option<Segment> {
        if matches!(self.iced.mnemonic(), Mnemonic::Lea | Mnemonic::Nop) {
            return None;
        }
        let addresses = self.iced.op_kinds().any(|kind| {
            use OpKind::{Memory, MemorySegDI, MemorySegEDI, MemorySegESI, MemorySegRDI, MemorySegRSI, MemorySegSI};
            matches!(
                kind,
                Memory | MemorySegSI | MemorySegESI | MemorySegRSI | MemorySegDI | MemorySegEDI | MemorySegRDI
            )
        });
        if !addresses {
            return None;
        }
        Segment::from_iced(self.iced.segment_prefix())
    }

    /// Whether this is a string instruction with a REP, REPE or REPNE prefix.
    pub fn is_rep(&self) -> bool {
        self.iced.is_string_instruction() && (self.iced.has_rep_prefix() || self.iced.has_repne_prefix())
    }

    /// How it repeats, if it is such an instruction.
    pub fn repetition(&self) -> Option<Repetition> {
        use Mnemonic::{Cmpsb, Cmpsd, Cmpsq, Cmpsw, Scasb, Scasd, Scasq, Scasw};
        if !self.is_rep() {
            return None;
        }
        let compares = matches!(self.iced.mnemonic(), Cmpsb | Cmpsw | Cmpsd | Cmpsq | Scasb | Scasw | Scasd | Scasq);
        let wanted = compares.then_some(if self.iced.has_repne_prefix() { Condition::Ne } else { Condition::E });
        let counts_32 = self
            .iced
            .op_kinds()
            .any(|kind| matches!(kind, OpKind::MemorySegESI | OpKind::MemorySegEDI | OpKind::MemoryESEDI));
        Some(Repetition { wanted, counts_32 })
    }

    /// The condition of a conditional move: it takes effect only if that holds.
    pub fn cmov_condition(&self) -> Option<Condition> {
        let name = self.mnemonic();
        if name.starts_with("cmov") { Condition::from_iced(self.iced.condition_code()) } else { None }
    }

    /// Whether AH, BH, CH or DH is an operand: such an instruction can't name R8 to R15.
    pub fn uses_high_byte(&self) -> bool {
        use iced_x86::Register::{AH, BH, CH, DH};
        (0..self.iced.op_count())
            .any(|i| self.iced.op_kind(i) == OpKind::Register && matches!(self.iced.op_register(i), AH | BH | CH | DH))
    }

    /// What makes the instruction's result unknowable from the app's state although it runs from a code cache as it
    /// is (random numbers, the number of the CPU, descriptor tables), or `None`.
    pub fn unrepeatable(&self) -> Option<&'static str> {
        match self.iced.mnemonic() {
            Mnemonic::Rdrand => Some("rdrand"),
            Mnemonic::Rdseed => Some("rdseed"),
            Mnemonic::Rdpid => Some("rdpid"),
            Mnemonic::Rdpru => Some("rdpru"),
            Mnemonic::Rdpmc => Some("rdpmc"),
            Mnemonic::Lsl => Some("lsl"),
            Mnemonic::Sidt => Some("sidt"),
            Mnemonic::Sgdt => Some("sgdt"),
            _ => None,
        }
    }

    /// Whether it asks the processor for one of its XCR registers: which components of the extended state the kernel lets programs use, for one.
    pub fn reads_xcr(&self) -> bool {
        self.iced.mnemonic() == Mnemonic::Xgetbv
    }

    /// Whether it stores those components of the extended state that the processor takes to be in use, which varies.
    pub fn stores_extended_state(&self) -> bool {
        use Mnemonic::{Xsave, Xsave64, Xsavec, Xsavec64, Xsaveopt, Xsaveopt64};
        matches!(self.iced.mnemonic(), Xsave | Xsave64 | Xsavec | Xsavec64 | Xsaveopt | Xsaveopt64)
    }

    /// Whether it stores such an image in the compacted form.
    pub fn compacts_extended_state(&self) -> bool {
        matches!(self.iced.mnemonic(), Mnemonic::Xsavec | Mnemonic::Xsavec64)
    }

    /// Whether it stores the x87 unit's environment by itself, and masks all exceptions then.
    pub fn masks_x87_exceptions(&self) -> bool {
        use Mnemonic::{Fnsave, Fnstenv, Fsave, Fstenv};
        matches!(self.iced.mnemonic(), Fnsave | Fnstenv | Fsave | Fstenv)
    }

    /// Whether it stores the x87 unit's environment, in which the address of the last x87 instruction stands.
    pub fn stores_x87_environment(&self) -> bool {
        use Mnemonic::{Fnsave, Fnstenv, Fsave, Fstenv, Fxsave, Fxsave64};
        let alone = matches!(self.iced.mnemonic(), Fnsave | Fnstenv | Fsave | Fstenv | Fxsave | Fxsave64);
        alone || self.stores_extended_state()
    }

    /// Whether it takes the flags from the stack.
    pub fn pops_flags(&self) -> bool {
        matches!(self.iced.mnemonic(), Mnemonic::Popf | Mnemonic::Popfq)
    }

    /// Its mnemonic in lower case, as a manual spells it.
    pub fn mnemonic(&self) -> &'static str {
        mnemonics()[self.iced.mnemonic() as usize]
    }

    /// Number of its mnemonic, an index into [`mnemonics`].
    pub fn mnemonic_number(&self) -> usize {
        self.iced.mnemonic() as usize
    }

    /// Name of the exact encoding, such as `Add_rm64_imm8`.
    pub fn opcode(&self) -> impl fmt::Debug + Copy + Eq + std::hash::Hash + use<> {
        let code: Opcode = self.iced.code();
        code
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        GasFormatter::new().format(&self.iced, &mut text);
        f.write_str(&text)
    }
}

impl fmt::Debug for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {self} ({:02x?})", self.pc(), self.bytes())
    }
}
