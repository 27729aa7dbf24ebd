//! Making system calls for the app.
//!
//! ```text
//!   flag set? ── no ──► syscall        a signal before this window: the flag says so
//!       │                              in it: the hook moves rip to the abort
//!       └─ yes ──► the call isn't made later: it interrupts the call, as natively
//! ```
//!
//! * `call`: a call, and one that is being made.
//! * `make`: so that a signal that comes at any moment is delivered before or after, never lost.
//! * `changed`: those that the tool changes.
//! * `waits`: which calls wait.

mod call;
mod changed;
pub mod make;
mod waits;

pub use call::{AppCall, Underway};
pub use changed::{ChangedCall, ChangedCalls};
pub(in crate::serial) use make::load_call;
pub use make::{Unmade, abort_at, interruptible, tell_places};
pub use waits::{LastingCalls, Length, length_of};
