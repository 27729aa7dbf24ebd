//! The slices of a run, from the fork to the result.
//!
//! ```text
//!   Recording ── its end is known ──► due ── room ──► running ── its process ends ──► Finished: result to the collector
//!                                                        └─ lost ──► begun again from its first state
//! ```
//!
//! * `identity`: who a thread is, and where it stands while another one has the turn: what logs tell of threads.
//! * `recording`: the slice that is being recorded, and its log.
//! * `passes`: what is run twice, where the tool looks at a part of the run.
//! * `slices`: all of them. `lost`: one whose process has ended too early. `live`: how far they have come, for people.
//! * `traced`: their processes, where those can't be our children.

mod identity;
mod live;
mod lost;
mod passes;
mod recording;
#[expect(clippy::module_inception, reason = "the file of what the room is named for")]
mod slices;
mod traced;

pub use identity::{Context, Identity};
pub use live::live_status;
pub use recording::{LastCall, Recording};
pub use slices::{Ended, Slices};
pub use traced::TracedSlices;
