//! A tool image: a program that plays a tool's roles, each in a process of its own.
//!
//! ```text
//!                  ┌─► supervisor::main                      checks options, starts the other two
//!   image! ─► main ┼─► entry ─► injected                     in the app or a slice: instruments, hands in a result
//!                  └─► collector ─► entry ─► collect         beside them: folds results, prints the total
//! ```
//!
//! * `main`: which role this process plays.
//! * `entry`: the image's tools, without their types.
//! * `injected`: a tool in a taken-over process. `collect`: a tool that collects.
//! * `names`: what the collector knows of the app's files. `streams`: what slices write meanwhile. `mapped`: the run memory, as it sees it.
//! * `collector`: the process that collects, and the commands that it takes.

mod collect;
mod collector;
mod entry;
mod injected;
mod main;
mod mapped;
mod names;
mod streams;

pub use entry::Entry;
pub use main::main;
