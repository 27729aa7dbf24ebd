//! The kernel's side of the app: its system calls, and signals.
//!
//! ```text
//!   names ◄─ argument ◄─ syscall
//!         ◄─ signal
//! ```
//!
//! * `syscall`: a call at its entry or its exit. `argument`: what it was given, by name and type.
//! * `signal`: a handler that begins or has returned.
//! * `changes`: calls and signals that a tool changes.
//! * `names`: of numbers.

mod argument;
mod changes;
mod names;
mod signal;
mod syscall;

pub use argument::{SyscallArgument, SyscallArgumentKind};
pub use changes::{SignalMut, SyscallMut};
pub use names::{error_name, signal_name, syscall_name};
pub use signal::{Signal, SignalEvent};
pub use syscall::{AppRange, Syscall, SyscallEvent, SyscallKind};
