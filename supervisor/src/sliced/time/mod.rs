//! How long a slice works, and how long a thread has the turn.

mod fitting;
mod input;
mod slice_time;
mod turn_queue;
mod turn_time;

pub(super) use slice_time::SliceTime;
pub(super) use turn_queue::TurnQueue;
pub(super) use turn_time::{Rang, TurnIsIn, TurnTime};
