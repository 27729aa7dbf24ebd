//! One thread that runs translated code.
//!
//! ```text
//!   Runner::run ─► dispatch ─► enter ─► exits ─┬─► branch_exits     a branch found nothing: link it
//!        ▲                                      ├─► calls            an analysis call, or its correction
//!        │                                      ├─► stream           the buffer is handed over
//!        └───────────── next ◄──────────────────┴─► host            system call, fault, end …   (control: what it may ask)
//! ```
//!
//! `answers`: what is done at special exits. `changing`: routines of the tool's that change the app. `begun` knows of instructions that were begun and aren't finished; `x87` shows the app its own addresses.

mod answers;
mod begun;
mod branch_exits;
mod calls;
mod changing;
mod control;
mod dispatch;
mod exits;
mod next;
mod rest;
mod runner;
pub mod stream;
mod x87;

pub use answers::ask;
pub use changing::{App, StateMut, write_app};
pub use rest::StoppedIn;
pub use runner::Runner;
