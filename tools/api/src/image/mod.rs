//! A tool image: a program that plays a tool's roles, each in a process of its own.
//!
//! ```text
//!                  ┌─► supervisor::main                      checks options, starts the other two
//!   image! ─► main ┼─► entry ─► (checked ─►) injected        in the app or a slice: instruments, hands in a result
//!                  └─► collector ─► entry ─► collect         beside them: folds results, prints the total
//! ```
//!
//! * `main`: which role this process plays.
//! * `entry`: the image's tools, without their types.
//! * `injected`: a tool in a taken-over process. `collect`: a tool that collects; `totals`: what it collects, with its types.
//! * `locals`: its local states, one or one for each thread, and how their results are folded.
//! * `checked`: a tool that is checked: `asked`, that it asks for the same at the same code, and `totals`, that its results add up however they are cut. `parts`: how these travel.
//! * `names`: what the collector knows of the app's files. `streams`: what slices write meanwhile. `mapped`: the run memory, as it sees it.
//! * `collector`: the process that collects, and the commands that it takes.

mod asked;
mod checked;
mod collect;
mod collector;
mod entry;
mod injected;
mod locals;
mod main;
mod mapped;
mod names;
mod parts;
mod streams;
mod totals;

pub use entry::{Entry, Listed, ListedSerialTool, ListedTool};
pub use main::main;
