//! Finding out how an instruction can run from a code cache.

use iced_x86::{Code as Opcode, EncodingKind, FlowControl, Mnemonic, OpKind};
use machine::AppPc;

use super::condition::Condition;
use super::instruction::Instruction;
use super::kind::{Kind, NondeterministicKind, Segment, SelectorSource, gpr};

impl Instruction {
    /// Whether a `loop` or `jrcxz` counts in ecx: it has an address size prefix.
    pub fn counts_32(&self) -> bool {
        use Opcode::{Jecxz_rel8_64, Loop_rel8_64_ECX, Loope_rel8_64_ECX, Loopne_rel8_64_ECX};
        matches!(self.iced.code(), Jecxz_rel8_64 | Loop_rel8_64_ECX | Loope_rel8_64_ECX | Loopne_rel8_64_ECX)
    }

    /// Finds out how it can run from a code cache, once for each instruction: it is asked for many times.
    pub(crate) fn find_kind(&self) -> Kind {
        match self.iced.flow_control() {
            FlowControl::Next => self.straight_kind(),
            FlowControl::UnconditionalBranch if self.iced.is_jmp_short_or_near() => {
                self.near_branch(|target| Kind::Jump { target })
            }
            FlowControl::ConditionalBranch => self.conditional_kind(),
            FlowControl::Call => match self.iced.code() {
                Opcode::Syscall => Kind::Syscall,
                Opcode::Sysenter => Kind::Unsupported("sysenter"),
                _ if self.iced.is_call_near() => self.near_branch(|target| Kind::Call { target }),
                _ => Kind::Trap,
            },
            FlowControl::IndirectBranch if self.iced.code() == Opcode::Jmp_rm64 => {
                self.without_size_prefix(Kind::JumpIndirect)
            }
            FlowControl::IndirectCall if self.iced.code() == Opcode::Call_rm64 => {
                self.without_size_prefix(Kind::CallIndirect)
            }
            FlowControl::IndirectBranch => Kind::Unsupported("far or 16-bit indirect jump"),
            FlowControl::IndirectCall => Kind::Unsupported("far or 16-bit indirect call"),
            FlowControl::Return => self.return_kind(),
            FlowControl::Interrupt => self.interrupt_kind(),
            FlowControl::XbeginXabortXend => match self.iced.code() {
                Opcode::Xbegin_rel16 | Opcode::Xbegin_rel32 => {
                    Kind::XBegin { abort: AppPc(self.iced.near_branch_target()) }
                }
                _ => Kind::Plain,
            },
            FlowControl::Exception => Kind::Trap,
            FlowControl::UnconditionalBranch => Kind::Unsupported("far jump"),
        }
    }

    /// Instructions that go on at the next one.
    fn straight_kind(&self) -> Kind {
        match self.iced.mnemonic() {
            Mnemonic::Rdtsc => return Kind::Nondeterministic(NondeterministicKind::Rdtsc),
            Mnemonic::Rdtscp => return Kind::Nondeterministic(NondeterministicKind::Rdtscp),
            Mnemonic::Cpuid => return Kind::Nondeterministic(NondeterministicKind::Cpuid),
            Mnemonic::Rdfsbase => return self.segment_base(false, Segment::Fs),
            Mnemonic::Wrfsbase => return self.segment_base(true, Segment::Fs),
            Mnemonic::Rdgsbase => return self.segment_base(false, Segment::Gs),
            Mnemonic::Wrgsbase => return self.segment_base(true, Segment::Gs),
            Mnemonic::Lfs | Mnemonic::Lgs => return Kind::Unsupported("load of the FS or GS selector"),
            _ => {}
        }
        if matches!(self.iced.mnemonic(), Mnemonic::Mov | Mnemonic::Pop)
            && self.iced.op0_kind() == OpKind::Register
            && let Some(segment) = Segment::from_iced(self.iced.op0_register())
        {
            return self.selector_load(segment);
        }
        if self.segment() == Some(Segment::Gs) && !self.has_replaceable_operand() {
            return Kind::Unsupported("GS-relative string instruction, xlat or gather");
        }
        // No CPU with all else that this project needs has 3DNow!.
        if self.iced.is_privileged() || self.iced.encoding() == EncodingKind::D3NOW { Kind::Trap } else { Kind::Plain }
    }

    /// Whether [`crate::Code::copy_with_base`] can give it another memory operand: it has an explicit one, and not one
    /// whose index is a vector register.
    pub fn has_replaceable_operand(&self) -> bool {
        // xlat's operand is implicit; 3DNow! exists on no CPU that this runs on and isn't encoded reliably.
        !self.iced.is_vsib()
            && self.iced.code() != Opcode::Xlat_m8
            && self.iced.encoding() != EncodingKind::D3NOW
            && self.iced.op_kinds().any(|kind| kind == OpKind::Memory)
    }

    fn selector_load(&self, segment: Segment) -> Kind {
        let source = gpr(self.iced.op1_register()).map(SelectorSource::Register);
        let popped = self.iced.stack_pointer_increment();
        let from = if popped > 0 { Some(SelectorSource::Stack(popped as u8)) } else { source };
        from.map_or(Kind::Unsupported("load of the FS or GS selector from memory"), |from| Kind::SelectorLoad {
            segment,
            from,
        })
    }

    fn segment_base(&self, write: bool, segment: Segment) -> Kind {
        let operand = self.iced.op0_register();
        match gpr(operand) {
            Some(register) => Kind::SegmentBase { write, segment, register, wide: operand.size() == 8 },
            None => Kind::Trap,
        }
    }

    fn conditional_kind(&self) -> Kind {
        if self.iced.is_loop() || self.iced.is_loopcc() || self.iced.is_jcx_short() {
            return self.near_branch(|target| Kind::CountBranch { target });
        }
        match Condition::from_iced(self.iced.condition_code()) {
            Some(condition) if self.iced.is_jcc_short_or_near() => {
                self.near_branch(|target| Kind::Branch { target, condition })
            }
            _ => Kind::Unsupported("conditional branch of an unknown kind"),
        }
    }

    fn return_kind(&self) -> Kind {
        match self.iced.code() {
            Opcode::Retnq => self.without_size_prefix(Kind::Return { extra_pop: 0 }),
            Opcode::Retnq_imm16 => self.without_size_prefix(Kind::Return { extra_pop: self.iced.immediate16() }),
            _ if self.iced.is_privileged() => Kind::Trap,
            _ => Kind::Unsupported("far or interrupt return"),
        }
    }

    fn interrupt_kind(&self) -> Kind {
        if self.iced.code() == Opcode::Int_imm8 && self.iced.immediate8() == 0x80 {
            return Kind::Unsupported("int 0x80");
        }
        Kind::Trap
    }

    fn near_branch(&self, kind: impl FnOnce(AppPc) -> Kind) -> Kind {
        self.without_size_prefix(kind(AppPc(self.iced.near_branch_target())))
    }

    /// A near branch with a 66 prefix and no REX.W has 64-bit operands for one maker's CPUs and 16-bit ones for the
    /// other's; no compiler writes it.
    fn without_size_prefix(&self, kind: Kind) -> Kind {
        let mut sized = false;
        for &byte in self.bytes() {
            match byte {
                0x66 => sized = true,
                0x26 | 0x2e | 0x36 | 0x3e | 0x64 | 0x65 | 0x67 | 0xf0 | 0xf2 | 0xf3 => {}
                0x48..=0x4f => return kind,
                _ => break,
            }
        }
        if sized { Kind::Unsupported("near branch with an operand size prefix") } else { kind }
    }
}
