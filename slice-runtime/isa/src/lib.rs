//! What the translator knows about x86-64: decoding app instructions, saying what each one needs and does,
//! and writing machine code.
//!
//! Problem: a translator must never be nearly right about an instruction. Approach: decoding and facts come from
//! iced-x86, which only this crate names, and an instruction's bytes are copied, not produced again, wherever
//! that is possible. What is re-encoded changes in its memory operand and nothing else.
//!
//! ```text
//!   decode ◄─ facts ◄─ write ◄─ routine
//! ```
//!
//! * [`Instruction`]: one decoded instruction with its bytes; [`Kind`] says how it can run from a code cache, [`InBlock`] where blocks end,
//!   [`Usage`] which registers and flags it touches, [`MemoryOperands`] what it addresses.
//! * [`Code`]: a buffer of machine code that knows at which address it will run.
//! * [`routine`]: analysis routines read as machine code, to be inlined.

mod decode;
mod facts;
pub mod random;
pub mod routine;
mod write;

pub use decode::{
    Condition, DecodeError, InBlock, Instruction, Kind, MAX_LEN, MNEMONICS, NondeterministicKind, Reader, Repetition,
    Segment, SelectorSource, mnemonics, prepare,
};
pub use facts::{
    Class, ElementMask, Elements, Extension, IndirectOperand, MemoryOperand, MemoryOperands, Operand, OperandKind,
    Property, Register, RegisterSet, SegmentRegister, Usage, free_gpr,
};
pub use write::{Code, Fixup};
