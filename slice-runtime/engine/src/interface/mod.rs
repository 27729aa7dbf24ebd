//! What the engine is told, and whom it asks.
//!
//! ```text
//!   Settings ─► engine ─ syscall, fault, interrupted, end_reached … ─► Host
//!                 ▲                                                      │
//!                 └─ code_changed, before_write, arm … ── Control ◄──────┘
//! ```

mod host;
mod settings;

pub use host::{Control, FAULTS, Fault, Flow, Host, Nondeterministic, TRAP_FLAG, TRAP_PAGE_FAULT};
pub use settings::{Settings, Watched};
