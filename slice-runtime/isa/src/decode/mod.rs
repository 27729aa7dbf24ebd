//! From bytes to instructions, and how each can run from a code cache.
//!
//! ```text
//!   bytes ─ Reader ─► Instruction ─ classify ─► Kind ─ in_block ─► InBlock
//! ```

mod classify;
mod condition;
mod in_block;
mod instruction;
mod kind;
mod mnemonics;
mod reader;

pub use condition::Condition;
pub use in_block::InBlock;
pub use instruction::{Instruction, MAX_LEN, Repetition};
pub(crate) use kind::gpr;
pub use kind::{Kind, NondeterministicKind, Segment, SelectorSource};
pub use mnemonics::{MNEMONICS, mnemonics};
pub use reader::{DecodeError, Reader, prepare};
