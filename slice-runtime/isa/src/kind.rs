//! How an instruction can run from a code cache.

use iced_x86::{Code as Opcode, EncodingKind, FlowControl, Mnemonic, OpKind, Register};
use machine::{AppPc, Gpr};

use crate::condition::Condition;
use crate::instruction::Instruction;
use crate::operands::gpr;

/// A segment register whose base matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Segment {
    /// FS: the app's thread pointer.
    Fs,
    /// GS.
    Gs,
}

impl Segment {
    pub(crate) fn from_iced(register: Register) -> Option<Segment> {
        match register {
            Register::FS => Some(Segment::Fs),
            Register::GS => Some(Segment::Gs),
            _ => None,
        }
    }
}

/// An instruction whose result the app's state doesn't determine, and which the engine asks its guest for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VolatileKind {
    /// `rdtsc`.
    Rdtsc,
    /// `rdtscp`.
    Rdtscp,
    /// `cpuid`.
    Cpuid,
}

/// What the translator has to do about an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Runs from the cache as it is (but see [`Instruction::rip_target`] and [`Instruction::segment`]).
    Plain,
    /// Direct jump.
    Jump {
        /// Where to.
        target: AppPc,
    },
    /// `jcc`.
    Branch {
        /// Where to if taken.
        target: AppPc,
        /// When it is taken.
        condition: Condition,
    },
    /// `loop`, `loope`, `loopne`, `jrcxz`, `jecxz`: these have an 8-bit displacement only.
    CountBranch {
        /// Where to if taken.
        target: AppPc,
    },
    /// Direct near call.
    Call {
        /// The callee.
        target: AppPc,
    },
    /// Near jump through a register or memory, see [`Instruction::indirect_operand`].
    JumpIndirect,
    /// Near call through a register or memory.
    CallIndirect,
    /// Near return.
    Return {
        /// Bytes that are popped after the return address.
        extra_pop: u16,
    },
    /// `syscall`.
    Syscall,
    /// Its result must come from outside.
    Volatile(VolatileKind),
    /// `xbegin`.
    XBegin {
        /// Where an abort goes.
        abort: AppPc,
    },
    /// `rdfsbase`, `wrfsbase`, `rdgsbase`, `wrgsbase`.
    SegmentBase {
        /// Whether the base is written.
        write: bool,
        /// Whose base.
        segment: Segment,
        /// The operand.
        register: Gpr,
        /// 64-bit operand; otherwise 32 bits, zero-extended both ways.
        wide: bool,
    },
    /// Raises a signal natively: `int3`, `ud2`, privileged instructions. Ends a trace; copied so that it faults.
    Trap,
    /// Can't be translated; the text says what it is.
    Unsupported(&'static str),
}

impl Kind {
    /// Where a direct branch or call goes.
    pub fn target(self) -> Option<AppPc> {
        match self {
            Kind::Jump { target }
            | Kind::Branch { target, .. }
            | Kind::CountBranch { target }
            | Kind::Call { target } => Some(target),
            _ => None,
        }
    }
}

impl Instruction {
    /// Whether a `loop` or `jrcxz` counts in ecx: it has an address size prefix.
    pub fn counts_32(&self) -> bool {
        use Opcode::{Jecxz_rel8_64, Loop_rel8_64_ECX, Loope_rel8_64_ECX, Loopne_rel8_64_ECX};
        matches!(self.iced.code(), Jecxz_rel8_64 | Loop_rel8_64_ECX | Loope_rel8_64_ECX | Loopne_rel8_64_ECX)
    }

    /// How it can run from a code cache.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Finds that out, once for each instruction: it is asked for many times.
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
            Mnemonic::Rdtsc => return Kind::Volatile(VolatileKind::Rdtsc),
            Mnemonic::Rdtscp => return Kind::Volatile(VolatileKind::Rdtscp),
            Mnemonic::Cpuid => return Kind::Volatile(VolatileKind::Cpuid),
            Mnemonic::Rdfsbase => return self.segment_base(false, Segment::Fs),
            Mnemonic::Wrfsbase => return self.segment_base(true, Segment::Fs),
            Mnemonic::Rdgsbase => return self.segment_base(false, Segment::Gs),
            Mnemonic::Wrgsbase => return self.segment_base(true, Segment::Gs),
            Mnemonic::Lfs | Mnemonic::Lgs => return Kind::Unsupported("load of the FS or GS selector"),
            _ => {}
        }
        let writes_selector = matches!(self.iced.mnemonic(), Mnemonic::Mov | Mnemonic::Pop)
            && self.iced.op0_kind() == OpKind::Register
            && Segment::from_iced(self.iced.op0_register()).is_some();
        if writes_selector {
            return Kind::Unsupported("load of the FS or GS selector");
        }
        if self.segment() == Some(Segment::Gs) && !self.has_replaceable_operand() {
            return Kind::Unsupported("GS-relative string instruction, xlat or gather");
        }
        // No CPU with all else that this project needs has 3DNow!.
        if self.iced.is_privileged() || self.iced.encoding() == EncodingKind::D3NOW { Kind::Trap } else { Kind::Plain }
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
