//! What the translator knows about x86-64: decoding app instructions, saying what each one needs and does,
//! and writing machine code.
//!
//! Problem: a translator must never be nearly right about an instruction. Approach: decoding and facts come from
//! iced-x86, which only this crate names, and an instruction's bytes are copied, not produced again, wherever
//! that is possible. What is re-encoded changes in its memory operand and nothing else.
//!
//! * [`Instruction`]: one decoded instruction with its bytes; [`Kind`] says how it can run from a code cache,
//!   [`Usage`] which registers and flags it touches, [`MemoryOperands`] what it addresses.
//! * [`Code`]: a buffer of machine code that knows at which address it will run.
//! * [`routine`]: analysis routines read as machine code, to be inlined.

mod code;
mod condition;
mod encode;
mod instruction;
mod kind;
mod operands;
mod primitives;
#[cfg(feature = "random")]
pub mod random;
mod rewrite;
pub mod routine;
mod usage;

pub use code::{Code, Fixup};
pub use condition::Condition;
pub use instruction::{DecodeError, Instruction, MAX_LEN, MNEMONICS, Reader, mnemonics, prepare};
pub use kind::{Kind, Segment, VolatileKind};
pub use operands::{IndirectOperand, MemoryOperand, MemoryOperands};
pub use usage::{Usage, free_gpr};
