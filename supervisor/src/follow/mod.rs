//! What it takes to follow one process, whichever way.
//!
//! ```text
//!   reports, signals, alarms ──► Follower ──► births: processes that it has started
//!                                   │
//!                                   └─ Parts: run memory, collector, statistics ──► Outcome
//! ```
//!
//! * `follower`: the trait. [`crate::serial`] and [`crate::sliced`] implement it, [`crate::processes`] calls it.
//! * `parts`: what one process's run works with.
//! * `births`: a new process, and what it inherits.
//! * `collector`: the process that adds results up.
//! * `stops`: the stops of a process by stopping signals, told apart.

mod births;
mod collector;
mod follower;
mod parts;
mod stops;

pub use births::{Birth, Heritage, Kind, Origin, run_to};
pub use follower::Follower;
pub use parts::{Outcome, Parts};
pub use stops::{JobStop, JobStops};
