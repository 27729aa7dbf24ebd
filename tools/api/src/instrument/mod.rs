//! What a tool instruments with: it looks at a trace, and inserts calls of its analysis routines.
//!
//! ```text
//!   the engine's trace ─► draft ◄─ instruction ◄─ block ◄─ trace ─► Tool::instrument
//!                           │          ▲ arguments, at
//!                           └─► what was inserted, for the engine
//! ```
//!
//! A trace is a contiguous run of app code with one entry; a block ends at each branch, call, return and system
//! call. If a block is entered, then all of its instructions are executed, unless one raises a signal.
//!
//! [`Trace`], [`Block`] and [`Instruction`] are views of one `draft`, which alone keeps what is inserted. That a routine fits its arguments is known
//! when the tool is compiled ([`AnalysisRoutine`]); that there is such a place or argument at an instruction is checked when the call is inserted.

mod arguments;
mod at;
mod block;
mod changed;
mod draft;
mod inserted;
mod instruction;
mod repeat;
mod routines;
mod tool_register;
mod trace;

pub use arguments::{Arg, Arguments, Routine as AnalysisRoutine, Test};
pub use at::At;
pub use block::Block;
pub use changed::{
    App, AppRoutine, ChangeRoutine, InstructionMut, RegisterRoutine, Replaced, ReplacementRoutine, TraceMut,
};
pub use inserted::{ListRoutine, StateRoutine, ValueRoutine, Versions};
pub use instruction::{
    Class, Extension, Instruction, MNEMONICS, MemoryOperand, Operand, OperandKind, Property, Register, RegisterSet,
    SegmentRegister, mnemonic_name,
};
pub use repeat::Repeat;
pub(crate) use routines::REGISTER_ARGUMENTS;
pub use tool_register::ToolRegister;
pub use trace::Trace;
pub use translator::abi::{Access, State};
