//! What an instruction needs and does: registers, flags, memory.
//!
//! ```text
//!   Instruction ─► usage ─┬─ common: the commonest ones, without asking
//!                         └─ info: what iced says
//!               ─► operands: the memory that it accesses
//!               ─► operand_list: all operands, and the registers it uses, of any kind (register)
//!               ─► elements: what of it a mask leaves out, where gathers go
//!               ─► class, extension, property: what it is
//! ```
//!
//! Translators ask the first three, tools the rest, too.

mod class;
mod common;
mod elements;
mod extension;
mod info;
mod operand_list;
mod operands;
mod property;
mod register;
mod usage;

pub use class::Class;
pub use elements::{ElementMask, Elements};
pub use extension::Extension;
pub use info::Usage;
pub(crate) use info::{rflags, with_iced_info, with_info};
pub use operand_list::{Operand, OperandKind};
pub use operands::{IndirectOperand, MemoryOperand, MemoryOperands};
pub use property::Property;
pub use register::{Register, RegisterSet, SegmentRegister};
pub use usage::free_gpr;
