//! What is told of branches.

use isa::Kind;

/// How an instruction may leave the straight line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchKind {
    /// Always, to one place.
    Jump,
    /// To one place, or on to the next instruction.
    Conditional,
    /// Always, to an address from a register or memory.
    IndirectJump,
    /// Direct call.
    Call,
    /// Call of an address from a register or memory.
    IndirectCall,
    /// Return.
    Return,
}

impl BranchKind {
    /// That of an instruction, if it is one.
    pub(crate) fn of(kind: Kind) -> Option<Self> {
        match kind {
            Kind::Jump { .. } => Some(Self::Jump),
            Kind::Branch { .. } | Kind::CountBranch { .. } => Some(Self::Conditional),
            Kind::JumpIndirect => Some(Self::IndirectJump),
            Kind::Call { .. } => Some(Self::Call),
            Kind::CallIndirect => Some(Self::IndirectCall),
            Kind::Return { .. } => Some(Self::Return),
            _ => None,
        }
    }
}
