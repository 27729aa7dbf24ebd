//! How often code was executed: what the engine has counted for a tool, and what can be asked of it when the run is over.
//!
//! ```text
//!   slices:     BlockCounts in Tool::Local ─ executed ─► Code, the result
//!   collector:  Code ─ merge ─► Code, the total ─► block ─► instruction ─► sums by whatever is known of an instruction
//! ```

mod address;
mod block;
mod branch;
#[expect(clippy::module_inception, reason = "the file of the type Code")]
mod code;
mod counts;
mod instruction;

pub use address::CodeAddress;
pub use block::CodeBlock;
pub use branch::BranchKind;
pub use code::Code;
pub use counts::{BlockCounts, CountsBlocks};
pub use instruction::CodeInstruction;
