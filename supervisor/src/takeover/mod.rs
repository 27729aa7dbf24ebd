//! The way into a process: how a stopped one becomes a slice, or a serial run.
//!
//! ```text
//!   stopped process ── enter ──► ENTRY is mapped ── take_over ──► boot block, loader, steps
//!                                                                 └─► map image, run memory, … ─► the image's entry
//! ```
//!
//! * `takeover`: both halves, and the boot block: the state that the app goes on from, and where it does.
//! * `steps`: the system calls that are needed, as a list. `loader`: the machine code that makes them.
//! * `start_stack`: the stack with which the image starts.
//! * `access`: files that the process opens by name, and how it gets the others.
//! * `limits`: its limits, lifted or lent.

pub mod access;
mod limits;
mod loader;
mod start_stack;
mod steps;
#[expect(clippy::module_inception, reason = "the file of what the room is named for")]
mod takeover;

pub use access::is_by_name;
pub use takeover::{Entered, Known, Site, capture, enter, take_over};
