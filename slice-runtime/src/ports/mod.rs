//! The three that a host talks to.
//!
//! ```text
//!   host ──► slot: the control process, by the run memory
//!        ──► tool: the author's code
//!        ──► kernel: system calls without libc
//! ```

mod kernel;
mod slot;
mod tool;

pub use kernel::{execute_cpuid, grow_stack, raw_syscall};
pub use slot::{OwnSlot, cpu_time, exit_now, header, time_of};
pub use tool::RunningTool;
