//! Signals that are recorded with the start of their handlers, and turns that end in the midst of the app's code, so that no slice has to end.
//!
//! ```text
//!   signal ──┬─ at the end of a recorded call ──► behind_call ──┐
//!            └─ in the midst of the app's code ──► points ──────┴──► frames: the handler's start, as the kernel has made it
//! ```
//!
//! * `behind_call`: the state is exact there. `points`: it is told by all that can be seen of it.
//! * `frames`: entering handlers, also where a slice ends.

mod behind_call;
mod frames;
mod points;

pub(in crate::sliced::master) use behind_call::{
    deliver_behind_call, is_behind_recorded_call, records_broken_off_call,
};
pub(in crate::sliced) use frames::{enter_handler, frame_elsewhere};
pub(in crate::sliced) use points::turn_ends_at_point;
pub(in crate::sliced::master) use points::{deliver_at_point, point_here};
