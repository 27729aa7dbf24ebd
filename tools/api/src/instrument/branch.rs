//! What instrumentation is told of branches.

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
