//! What is decided before the first byte is written.

mod counting;
mod placement;

pub(in crate::emit) use counting::{adds_to_counter_register, choose_counters, decide};
pub(in crate::emit) use placement::{facts, may_drain};
