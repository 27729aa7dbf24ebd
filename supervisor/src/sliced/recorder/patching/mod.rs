//! How an instruction of the app's is made to lead to the recorder.
//!
//! ```text
//!   mov eax, 39; syscall   ──►   jmp hole; syscall
//!                                     └─► padding: jmp stub ──► the recorder
//! ```
//!
//! * `holes`: padding that nothing executes.
//! * `plan`: what to write where, decided by the code around an instruction.
//! * `sites`: instructions that were patched, and what was there before.

mod holes;
mod plan;
mod sites;

pub use plan::Amid;
pub use sites::Sites;
