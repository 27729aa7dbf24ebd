//! From the image's `main` to the app's first translated instruction, and from the end to `_exit`.
//!
//! ```text
//!   main ──► boot: undo what libc did to the process, take the slot, make the tool
//!        ──► hosts: engine, then a slice's host or a serial run's ──► result ──► _exit
//! ```

mod boot;
mod hosts;
mod log;

pub use boot::{start, tool_args};
