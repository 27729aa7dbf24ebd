//! What everybody here stands on: errors, messages, and what this machine is.
//!
//! ```text
//!   a call fails ──► Failure ──► tell! "superpin: …", exit status 125, 126 or 127
//! ```
//!
//! * `error`: why a run failed, and the status that says so.
//! * `tell`: a line on standard error. `status_line`: one that is there for a while.
//! * `descriptor`: where its own files lie.
//! * `moment`: time, read without the time stamp counter.
//! * `cpu`: what this processor can trap.
//! * `processor`, `affinity`: on which processor a process runs, and who shares one with whom.
//! * `symbols`: names of what lies in the tool image.

pub mod affinity;
mod cpu;
mod descriptor;
mod error;
mod moment;
pub mod processor;
pub mod status_line;
mod symbols;
#[macro_use]
mod tell;

pub use affinity::{Affinity, processor_of};
pub use cpu::{comparisons_keep_flags, null_selector_clears_base};
pub use descriptor::above_standard;
pub use error::{Doing, Failure, NOT_EXECUTABLE, NOT_FOUND, OWN_FAILURE};
pub use moment::{Moment, since_1970, with_counter};
pub use processor::{Processor, cpuid_table};
pub use symbols::{Described, Routines, named};
