//! The host of a slice: the app's code runs, its system calls don't.
//!
//! A slice is a copy of the master that executes again what the master executed natively between two boundaries. What the
//! outside contributed then comes from the log now:
//!
//! ```text
//!   start:   the first state is kept, shared memory becomes private
//!   answers: the engine asks ─┬─ a system call, cpuid, …  ──► replay: the next record
//!                             └─ a place where it may end ──► end: registers, then memory
//!   host:    whatever doesn't fit is said in the slot
//! ```
//!
//! * `answers`: what the engine asks. `host`: what is behind the answers. `turns`: which of the app's threads goes on, and their calls. `points`: signals in the midst of its code. `proof`: that the end is the end.
//! * [`start`], [`replay`], [`end`]: before the first instruction; what comes from the log; how the end is found and proved.

mod answers;
mod end;
mod host;
mod points;
mod proof;
mod replay;
pub mod start;
mod turns;

pub use host::SliceHost;
