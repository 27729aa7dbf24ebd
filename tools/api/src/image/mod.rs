//! A tool image: a program that plays a tool's roles, each in a process of its own.
//!
//! ```text
//!                  ┌─► supervisor::main                    checks options, starts the other two
//!   image! ─► main ┼─► entry ─► running                    in the app or a slice: instruments, hands in a result
//!                  └─► collector ─► collected ─► collect   beside them: folds results, prints totals
//! ```
//!
//! * `main`: which role this process plays.
//! * `entry`: the image's tools, without their types.
//! * `running`: the tools of a run in a taken-over process.
//! * `collect`: a tool that collects; `totals`: what it collects, with its types. `collected`: all tools of the run.
//! * `names`: what the collector knows of the app's files. `streams`: what slices write meanwhile. `mapped`: the run memory, as it sees it.
//! * `collector`: the process that collects, and the commands that it takes.

mod collect;
mod collected;
mod collector;
mod entry;
mod main;
mod mapped;
mod names;
mod running;
mod streams;
mod totals;

pub use entry::{Entry, Listed, ListedSerialTool, ListedTool};
pub use main::main;
