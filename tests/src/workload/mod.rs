//! Real programs with inputs of any size, for suites, benchmark and soak.
//!
//! Inputs are made here from fixed seeds, so that every machine runs the same work. A program that isn't installed is left out
//! by name, never silently: `scripts/install-deps.sh` installs all of them.
//!
//! ```text
//!   inputs ◄─ job ◄─ programs, everyday, threaded
//! ```

mod everyday;
mod inputs;
mod job;
mod programs;
mod threaded;

pub use everyday::EVERYDAY;
pub use job::Workload;
pub use programs::{WORKLOADS, named};
pub use threaded::{SHARING, THREADED};
