//! What it takes to follow one process, whichever way.
//!
//! ```text
//!   reports, signals, alarms ──► Follower ──► new processes: processes that it has started
//!                                   │
//!                                   └─ Parts: run memory, collector, statistics ──► Outcome
//! ```
//!
//! * `follower`: the trait. [`crate::serial`] and [`crate::sliced`] implement it, [`crate::processes`] calls it.
//! * `resources`: what one process's run works with.
//! * `new_processes`: a new process, and what it inherits.
//! * `collector`: the process that adds results up.
//! * `stops`: the stops of a process by stopping signals, told apart.

mod collector;
mod follower;
mod new_processes;
mod resources;
mod stops;

pub use follower::Follower;
pub use new_processes::{InheritedState, NewProcess, Origin, ProcessKind, run_to};
pub use resources::{Outcome, Resources};
pub use stops::{JobStop, JobStops};
