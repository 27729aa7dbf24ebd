//! How an instruction of the app's is made to lead to the recorder.
//!
//! ```text
//!   mov eax, 39; syscall   ──►   jmp gap; syscall
//!                                     └─► padding: jmp stub ──► the recorder
//! ```
//!
//! * `padding`: bytes that nothing executes.
//! * `plan`: what to write where, decided by the code around an instruction.
//! * `covering`: jumps over more than one instruction, where it finds no gap near.
//! * `sites`: instructions that were patched, and what was there before.

mod covering;
mod padding;
mod plan;
mod sites;

pub use plan::{Follows, MidPatch};
pub use sites::Sites;
