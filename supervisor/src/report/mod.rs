//! What is told about a run besides its result.
//!
//! ```text
//!   counters ──► Statistics ──► lines, Summary ──► write ──► Output: a file, renamed into place
//!   doubts ────► Worth ──► in the result, in the report, in the exit status
//! ```
//!
//! * `statistics`: what is counted; `lines`: all of it, by name; `summary`: what a person wants to know first, and what to change.
//! * `boundary`: why slices end.
//! * `timeline`: the run as a drawing. `live`: how it gets on, in a line.
//! * `turns`: turns of the app's threads.
//! * `worth`: whether the number is right, and if not, what is known of it.
//! * `processors`: what the run would take on more processors.
//! * `output`: files that results and reports go to.
//! * `log`: what those who work on superpin are told.
//! * `unreached`: a region that never began.
//! * `write`: the report, to where it was asked for.

mod boundary;
mod lines;
mod live;
pub mod log;
mod output;
mod processors;
mod statistics;
mod summary;
mod timeline;
mod turns;
mod unreached;
mod worth;
mod write;

pub use boundary::Boundary;
pub use live::LiveStatus;
pub use output::Output;
pub use processors::Costs;
pub use statistics::Statistics;
pub use timeline::{Merged, Ran, What};
pub use turns::TurnEnded;
pub use unreached::unreached;
pub use worth::Worth;
pub use write::{check_report, report};
