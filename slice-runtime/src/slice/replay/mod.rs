//! What comes from the log instead of from the kernel.
//!
//! ```text
//!   syscall ──► fast path (assembly, in translated code) ──► the next record fits: registers, memory, on
//!                 └─ anything unusual ──► the host, by the runtime
//! ```
//!
//! * `fast_path`: calls replayed without leaving for the runtime. `fast_readings`: readings of the time stamp counter likewise.
//! * `space`: calls that shape memory are made again. `program_break`: but the break, which is a number here. `pieces`: what the kernel takes to be one
//!   mapping there and several here.
//! * `views`: mappings show what was written to their file.
//! * `threads`: which of the app's threads goes on.
//! * `cpuid`: recorded, or looked up in the table of the processor on which the master asked.

mod cpuid;
mod fast_path;
mod fast_readings;
mod pieces;
mod program_break;
mod space;
mod threads;
mod views;

pub use cpuid::Cpuid;
pub use fast_path::Replaying;
pub use program_break::ProgramBreak;
pub use space::{RunFiles, SliceSpace};
pub use threads::{OtherThreads, Waiting};
