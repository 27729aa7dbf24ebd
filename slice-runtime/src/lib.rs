//! The inside of a tool image while it runs in a taken-over process.
//!
//! The problem: an ordinary Rust program with `std` must live in a process that belongs to somebody else, and
//! leave no trace there that the app could see. The approach: everything that it would take from the process is
//! served from the bubble instead, and everything that it would do to the process is not done.
//!
//! ```text
//!   image, ports ◄─ region, slice, serial ◄─ start
//! ```
//! Rooms name only what lies to their left. Each room's `mod.rs` is a page that explains it:
//!
//! * `image`: a Rust program in another's process: heap, libc, snapshot.
//! * `ports`: the control process, the tool, the kernel. `superpin-tool` implements [`RunningTool`] for what authors write.
//! * `region`: a tool that looks at a part of the run.
//! * `slice` and `serial`: for whom the engine runs: a slice that replays, or the app itself.
//! * `start`: from the image's `main` to the app's first translated instruction, and from the end to `_exit`.
//!
//! What is true of the process while the image runs in it: all signals are blocked until the host decides
//! otherwise; FS points to the image's own TLS; standard descriptors may be closed, so nothing is ever printed:
//! a failure is a report in the slot.

mod image;
mod ports;
mod region;
mod serial;
mod slice;
mod start;

pub use image::injected;
pub use ports::{
    AppImage, AppThread, CallChange, Happened, OwnSlot, RunningTool, SignalArrival, SignalChange, SystemCall,
    ThreadChange, image_at, requests, stream,
};
pub use start::{place_of, start, tool_args};

#[cfg(test)]
suites::watch_tests!();
