//! Into the code cache and out of it.
//!
//! ```text
//!   run loop ── enter ──► translated code ── leave, leave by stub, miss ──► run loop
//!                          │        ▲
//!                     syscall       └── done
//!                          ▼        │
//!                         fast path ┘  a routine of the host's that does a system call's work: no run loop
//! ```
//!
//! `switch` is the context switch, in assembly, with `extended` for the extended state; `aside` calls routines of the tool's without it.
//! Of most of these it is found out at their first call that little of the app's state must be put aside: `prepare` makes a way to them in machine code, in which `partly` is what is
//! common to all, with a copy of the routine (`copy`) if it has ways on which all has to be put aside. `clean` does what only the runtime can, without the run loop. `window`: what each thread has its own of. [`fast_path`] says what a way round the runtime owes to both sides.

mod aside;
mod clean;
mod copy;
mod extended;
pub mod fast_path;
mod partly;
mod prepare;
mod switch;
mod window;

pub use aside::doors;
pub use clean::{Clean, forget, know};
pub use fast_path::FastPath;
pub use prepare::{begin, original};
pub use switch::{
    EXIT_FAULT, EXIT_INTERRUPTED, EXIT_NOT_ENTERED, INDIRECT_MISS, abandon_pc, adopt, current, detach, enter,
    extended_state, in_enter_window, indirect_miss_pc, leave_by_stub_pc, own, stored_environment,
};
pub use window::{enter_window, host_word, map_window, mapped_in_windows, windows_end};
