//! What a person said, and what this process was started with.
//!
//! ```text
//!   superpin -t icount2 -sp 1 -- ls -l
//!            └──── cli ───┘      └─ program: found, looked at
//!                  │
//!                  ▼
//!              Settings ──► everybody
//! ```
//!
//! * `cli`, `settings`: options, and what they mean. `misspelt` asks "did you mean …?".
//! * `detach`: `superpin detach`.
//! * `environment`: the variables that the app is to see.
//! * `inherited`, `own_limits`: descriptors and limits that were there at the start.
//! * `program`, `image`: the app's file and the tool image's.
//! * `region`: which part of the run the tool looks at.
//! * `watch`: what those who work on superpin ask for.
//! * `surroundings`: what the machine must allow.

pub mod cli;
pub mod detach;
mod environment;
pub mod image;
mod inherited;
mod misspelt;
pub mod own_limits;
pub mod program;
mod region;
mod settings;
pub mod surroundings;
mod watch;

#[cfg(test)]
pub use environment::Environment;
pub use image::{ImageSegment, ToolImage};
pub use inherited::{Inherited, names_stdout};
pub use misspelt::did_you_mean;
pub use settings::{CallLimit, ChosenTool, ReportTarget, Sees, Settings, SliceLength, ToolInfo};
pub use watch::{Addresses, LogTarget, Watch, is_stderr};
