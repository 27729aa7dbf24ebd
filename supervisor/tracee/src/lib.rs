//! The ptrace layer: processes under control, with their states as types.
//!
//! ptrace(2) works on stopped processes only, and almost every mistake with it is a call at the wrong time. Here
//! a process under control is either a [`Stopped`] or a [`Running`], never both: what needs a stopped process is a
//! method of `Stopped`, going on consumes it and gives a `Running`, and a `Running` becomes a `Stopped` only by
//! presenting the kernel's [`Report`] on it. Neither type can be copied, made from a number, or sent to another thread
//! (the kernel takes ptrace requests from the tracing thread alone).
//!
//! * [`launch`]: a program started under control, stopped after its exec;
//! * [`attach`]: a process that was running by itself;
//! * [`Running::observe`] and [`Stop`]: what a wait status means;
//! * [`Remote`]: system calls executed by a stopped process, with its state restored whatever happens;
//! * [`machine::Memory`] for [`Stopped`]: its memory;
//! * [`Stopped::fork`]: the copy that becomes a slice.
//!
//! The one remaining surprise is that a process can be killed at any time, stopped or not. Every operation
//! can therefore fail with [`TraceError::Gone`]; the kernel reports the end as usual afterwards.

mod attach;
mod breakpoint;
mod fork;
mod kernel;
mod launch;
mod memory;
mod observe;
mod process;
mod remote;
mod state;
mod stop;
#[cfg(test)]
mod tests;

pub use attach::{AttachError, Attached, Rseq, attach, attach_others};
pub use breakpoint::{BREAKPOINTS, is_step};
pub use fork::Parent;
pub use kernel::{ExitStatus, Report, TraceError, next_report, threads_are_traced};
pub use launch::{LaunchError, Program, launch};
pub use process::send_again;
pub use remote::{Remote, find_syscall_instruction};
pub use state::UserRegisters;
pub use stop::{Change, Follows, Mode, Running, Stop, Stopped};

#[cfg(test)]
suites::watch_tests!();
