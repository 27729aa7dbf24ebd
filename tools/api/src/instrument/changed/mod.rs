//! What a tool inserts that changes the app: [`crate::SerialTool`] alone gets to it.
//!
//! ```text
//!   Trace ─► trace: TraceMut ─► instruction: InstructionMut ─► change, replace, call_app, delete, jump
//!                                         routines: fn(&mut Local, &mut StateMut, …)
//!                                         app: fn(&mut App<Local>, …), which calls the app's own
//! ```

mod app;
mod instruction;
mod routines;
mod trace;

pub use app::{App, AppRoutine, Replaced, ReplacementRoutine};
pub use instruction::InstructionMut;
pub use routines::{ChangeRoutine, RegisterRoutine};
pub use trace::TraceMut;
