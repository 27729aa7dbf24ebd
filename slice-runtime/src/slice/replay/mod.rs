//! What comes from the log instead of from the kernel.
//!
//! ```text
//!   syscall ──► fast path (assembly, in translated code) ──► the next record fits: registers, memory, on
//!                 └─ anything unusual ──► the host, by the runtime
//! ```
//!
//! * `fast_path`: calls replayed without leaving for the runtime.
//! * `space`: calls that shape memory are made again.
//! * `views`: mappings show what was written to their file.
//! * `cpuid`: recorded, or looked up in the table of the processor on which the master asked.

mod cpuid;
mod fast_path;
mod space;
mod views;

pub use cpuid::Cpuid;
pub use fast_path::Replaying;
pub use space::{RunFiles, SliceSpace};
