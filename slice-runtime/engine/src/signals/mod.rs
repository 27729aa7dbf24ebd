//! Faults and interruptions, back to the app's state.
//!
//! ```text
//!   kernel ─► install: entry stub, FS ─► handler: a fault? an interruption? ─► recover: the frame becomes the app's state
//!                                        │
//!                                        └─► Mailbox ─► abandon ─► run loop
//! ```

mod handler;
mod install;
mod recover;

pub use handler::{Hook, interrupt, on_signal, set_interrupted};
pub(crate) use handler::{Mailbox, Scene};
pub use install::install_signal;
pub(crate) use install::{enters, start};
