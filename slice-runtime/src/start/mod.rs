//! From the image's `main` to the app's first translated instruction, and from the end to `_exit`.
//!
//! ```text
//!   main ──► boot: undo what libc did to the process, take the slot, make the tool
//!        ──► hosts: engine, then a slice's host or a serial run's ──► result ──► _exit
//! ```
//!
//! `violation`: what is said of a routine that does what it must not.

mod boot;
mod hosts;
mod log;
mod violation;

pub use boot::{start, tool_args};
pub use violation::place_of;
