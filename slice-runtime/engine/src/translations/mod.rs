//! What all threads of a process share: finding, making and dropping translations.
//!
//! ```text
//!   pc ─► find ─► make: select ─ instrument ─ translate ─ keep ─► Found
//!                                                                  │ connect: branches lead there
//!   changes ─► discard: entries lead to the dispatcher again, or the cache is emptied
//!                deferred, rendezvous: when no other thread is in the cache
//!   point, arm: the place where a slice ends
//! ```
//!
//! `shared`: the engine as each thread holds it.

mod arm;
mod changes;
mod connect;
mod deferred;
mod discard;
mod engine;
mod make;
mod point;
mod rendezvous;
mod shared;

pub(crate) use engine::Engine;
pub(crate) use make::{Failed, Want};
pub(crate) use shared::SharedEngine;
