//! `heap`: what the app allocates and frees, where, and what it has over time and in the end.
//!
//! * `routines`: which routines allocate and free, and what they are given. `calls`: their calls that the app is in. `stacks`: who has called them. `tool`: what is instrumented.
//! * `samples`: bytes over time. `growth`: these, and what there is at the peak. `part`: all that a part of the run has done, and how parts are put together.
//! * `profile`: what is told in the end. `massif`: they in valgrind's format.

mod calls;
mod growth;
mod massif;
mod part;
mod profile;
mod routines;
mod samples;
mod stacks;
mod tool;

pub use routines::{Call, Kind};
pub use tool::HeapProfile;
