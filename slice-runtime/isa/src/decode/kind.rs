//! How an instruction can run from a code cache.

use iced_x86::Register;
use machine::{AppPc, Gpr};

use super::condition::Condition;

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

/// Where an instruction gets a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectorSource {
    /// The lower half of the lower half of a register.
    Register(Gpr),
    /// The stack, from which so many bytes are taken.
    Stack(u8),
}

/// An instruction whose result the app's state doesn't determine, and which the engine asks its host for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NondeterministicKind {
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
    /// Runs from the cache as it is (but see [`crate::Instruction::rip_target`] and [`crate::Instruction::segment`]).
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
    /// Near jump through a register or memory, see [`crate::Instruction::indirect_operand`].
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
    Nondeterministic(NondeterministicKind),
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
    /// `mov` or `pop` of a selector to FS or GS. The null selector is all that the engine can load.
    SelectorLoad {
        /// Which of them.
        segment: Segment,
        /// Where the selector comes from.
        from: SelectorSource,
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

/// The general register that `register` is a part of.
pub(crate) fn gpr(register: Register) -> Option<Gpr> {
    register.is_gpr().then(|| Gpr::ALL[register.full_register().number()])
}
