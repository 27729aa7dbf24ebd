//! What an instruction needs and does: registers, flags, memory.
//!
//! ```text
//!   Instruction ─► usage ─┬─ common: the commonest ones, without asking
//!                         └─ info: what iced says
//!               ─► operands: the memory that it accesses
//! ```

mod common;
mod info;
mod operands;
mod usage;

pub use info::Usage;
pub(crate) use info::{rflags, with_iced_info, with_info};
pub use operands::{IndirectOperand, MemoryOperand, MemoryOperands};
pub use usage::free_gpr;
