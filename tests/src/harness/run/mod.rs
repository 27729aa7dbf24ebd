//! Runs a program and keeps all that can be seen of the run.
//!
//! Each run has its own empty current directory and the same small environment: instruction counts depend on the
//! environment's size, and files that a program leaves are part of what must be equal.
//!
//! ```text
//!   libraries ─► job: program, arguments, standard input ─┐
//!                    scratch: the directory to run in ────┴─► run ─► Outcome: status, output, files
//! ```

mod job;
pub mod libraries;
mod outcome;
mod scratch;

pub use job::{ENVIRONMENT, Job};
pub use outcome::{Outcome, as_shell, run, run_at_most};
pub use scratch::Scratch;
