//! One thread that runs translated code.
//!
//! ```text
//!   Runner::run ─► dispatch ─► enter ─► exits ─┬─► branch_exits     a branch found nothing: link it
//!        ▲                                      ├─► calls            an analysis call, or its correction
//!        │                                      ├─► stream           the buffer is handed over
//!        └───────────── next ◄──────────────────┴─► host            system call, fault, end …   (control: what it may ask)
//! ```
//!
//! `begun` knows of instructions that were begun and aren't finished; `x87` shows the app its own addresses.
//! `selectors` loads null selectors for the app.

mod begun;
mod branch_exits;
mod calls;
mod control;
mod dispatch;
mod exits;
mod next;
mod questions;
mod rest;
mod runner;
mod selectors;
pub mod stream;
mod x87;

pub use questions::ask;
pub use rest::StoppedIn;
pub use runner::Runner;
