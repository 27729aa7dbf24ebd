//! The master: what each of its stops means for the slice that is being recorded.
//!
//! ```text
//!   stop ──► take_back (from the recorder inside it) ──► stops ─┬─ entry, exit: calls
//!                                                               ├─ signal: signals ─ deliveries, instructions
//!                                                               ├─ interrupt: interrupts
//!                                                               └─ exec
//!        ──► Next: go on, cut here, ask again, give up
//! ```
//!
//! * `process`: what its threads share. `threads`: how many there are, and which goes on. [`thread`]: where one stands, and what is its own, with the invariants.
//! * `check_calls`: whether a call did what the table says.
//! * `instructions`: those whose results are recorded, and calls of the vsyscall page.
//! * `raised`: signals that instructions raise for us, which leave no trace.
//! * `block_ends`: the end of a slice whose time is over, or behind a call that was the last thing it did.

mod block_ends;
mod calls;
mod check_calls;
mod deliveries;
mod instructions;
mod interrupts;
mod process;
mod raised;
mod signals;
mod stops;
mod take_back;
mod thread;
mod threads;

pub(in crate::sliced) use calls::exit_alone;
pub(in crate::sliced) use deliveries::{enter_handler, frame_elsewhere, turn_ends_at_point};
pub use process::Process;
pub use stops::{Leave, handle, leave};
pub use take_back::{CameOut, comes_out, passes_by, take_back};
pub use thread::Thread;
