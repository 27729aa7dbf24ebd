//! What an instruction is, by yes and no.

use iced_x86::{Mnemonic as M, OpKind, Register};

use crate::decode::Instruction;

/// Something that is so of some instructions: see [`Instruction::is`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Property {
    /// It does nothing, whatever its operands: `nop` of all lengths.
    Nop,
    /// `lea`.
    Lea,
    /// `mov`, none of its relatives.
    Mov,
    /// It asks for memory to be brought to the caches, and accesses none.
    Prefetch,
    /// It has a LOCK prefix.
    Locked,
    /// It reads and writes memory in one step: with a LOCK prefix, or `xchg` with memory.
    Atomic,
    /// `lfence`, `sfence`, `mfence` or `serialize`.
    Fence,
    /// A mask says which of its elements are computed, loaded or stored: an opmask of AVX-512, or the mask operand of `vmaskmov`, `vpmaskmov`, `maskmov` and of
    /// gathers.
    Masked,
    /// A string instruction, repeated or not.
    String,
    /// It pushes, pops, calls or returns: the stack pointer is its implicit operand.
    Stack,
    /// A conditional move of general registers (`cmov`).
    ConditionalMove,
    /// It loads elements of a vector from addresses of their own.
    Gather,
    /// It stores elements of a vector to addresses of their own.
    Scatter,
    /// It reads memory, perhaps depending on a condition.
    ReadsMemory,
    /// It writes memory, perhaps depending on a condition.
    WritesMemory,
    /// A memory operand is relative to the instruction pointer.
    IpRelative,
    /// Only the kernel may execute it.
    Privileged,
}

impl Instruction {
    /// Whether it has a property.
    pub fn is(&self, property: Property) -> bool {
        let mnemonic = self.iced.mnemonic();
        match property {
            Property::Nop => matches!(mnemonic, M::Nop | M::Reservednop),
            Property::Lea => mnemonic == M::Lea,
            Property::Mov => mnemonic == M::Mov,
            Property::Prefetch => matches!(
                mnemonic,
                M::Prefetch
                    | M::Prefetchw
                    | M::Prefetchwt1
                    | M::Prefetcht0
                    | M::Prefetcht1
                    | M::Prefetcht2
                    | M::Prefetchnta
                    | M::Prefetchit0
                    | M::Prefetchit1
            ),
            Property::Locked => self.iced.has_lock_prefix(),
            Property::Atomic => {
                let exchanges = mnemonic == M::Xchg && self.iced.op_kinds().any(|kind| kind == OpKind::Memory);
                self.iced.has_lock_prefix() || exchanges
            }
            Property::Fence => matches!(mnemonic, M::Lfence | M::Sfence | M::Mfence | M::Serialize),
            Property::Masked => self.iced.op_mask() != Register::None || self.has_mask_operand(),
            Property::String => self.iced.is_string_instruction(),
            Property::Stack => self.iced.is_stack_instruction(),
            Property::ConditionalMove => self.cmov_condition().is_some(),
            Property::Gather => self.iced.is_vsib() && self.reads_memory(),
            Property::Scatter => self.iced.is_vsib() && self.writes_memory(),
            Property::ReadsMemory => self.reads_memory(),
            Property::WritesMemory => self.writes_memory(),
            Property::IpRelative => self.iced.is_ip_rel_memory_operand(),
            Property::Privileged => self.iced.is_privileged(),
        }
    }

    fn reads_memory(&self) -> bool {
        self.memory_operands().iter().any(|operand| operand.read)
    }

    /// Whether the mask is an operand like others.
    pub(crate) fn has_mask_operand(&self) -> bool {
        let masks = matches!(
            self.iced.mnemonic(),
            M::Maskmovq
                | M::Maskmovdqu
                | M::Vmaskmovdqu
                | M::Vmaskmovps
                | M::Vmaskmovpd
                | M::Vpmaskmovd
                | M::Vpmaskmovq
        );
        masks || self.iced.is_vsib()
    }
}
