//! Routines of the tool's that change the app: its state, and where it goes on. They are called from the run loop, with translated code left.
//!
//! ```text
//!   answers::change ─ Form::Change ─► StateMut ─► registers, memory, execute_at
//!        │ ▲
//!        │ └─ the app's routine has returned to RETURNED ◄──────────────────┐
//!        └─ Form::App ─► fiber ─► App ─► a routine of the app's, run as any other code
//! ```
//!
//! A routine that calls one of the app's has a stack of its own (`fiber`), and waits there while the app's code runs in the run loop as ever: with all its instrumentation, signals
//! and threads. So no run loop is ever entered in another one. A long jump out of the app's routine leaves the tool's waiting for ever.
//!
//! `app_calls`: what waits. `write`: to the app's memory.

mod app_calls;
mod fiber;
mod state_mut;
mod write;

pub use app_calls::{AppCalls, RETURNED, Waiting};
pub use fiber::{App, Call, Fiber, Step};
pub use state_mut::StateMut;
pub use write::write as write_app;
