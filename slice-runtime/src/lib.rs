//! The inside of a tool image while it runs in a taken-over process.
//!
//! The problem: an ordinary Rust program with `std` must live in a process that belongs to somebody else, and
//! leave no trace there that the app could see. The approach: everything that it would take from the process is
//! served from the bubble instead, and everything that it would do to the process is not done:
//!
//! * [`heap`]: the Rust allocator, which serves from the bubble's HEAP.
//! * `libc_shims`: the program break as the image's libc sees it, which is the bubble's LIBC_HEAP.
//! * `picture`: what all slices need alike is started once.
//! * [`slot`]: this process's face in the run memory: waiting for the end to be known, handing in the result.
//! * [`tool`]: what the runtime wants from a tool. `superpin-tool` implements it for what authors write.
//! * `slice` and `serial`: for whom the engine runs: a slice that replays, or the app itself.
//! * [`boot`]: from the image's `main` to the app's first translated instruction, and from the end to `_exit`.
//!
//! What is true of the process while the image runs in it: all signals are blocked until the guest decides
//! otherwise; FS points to the image's own TLS; standard descriptors may be closed, so nothing is ever printed:
//! a failure is a report in the slot.

pub mod boot;
mod dispatch;
pub mod heap;
mod libc_shims;
mod picture;
mod serial;
mod slice;
pub mod slot;
pub mod tool;

pub use boot::{injected, start};
pub use slot::OwnSlot;
pub use tool::RunningTool;

#[cfg(test)]
suites::watch_tests!();
