//! What wakes the control process, and signals that are meant for the app.
//!
//! ```text
//!   a child stops ──────┐
//!   an alarm runs down ─┼──► Events::wait ──► one Event
//!   the collector ──────┤
//!   kill, the terminal ─┘──► Passing: the app's, with their sender
//! ```
//!
//! * `events`: the one place that sleeps.
//! * `alarm`: timers.
//! * `passing`: signals that somebody sends to superpin.

mod alarm;
#[expect(clippy::module_inception, reason = "the file of what the room is named for")]
mod events;
mod passing;

pub use alarm::Alarm;
pub use events::{
    ENDING, Event, Events, PIPE_SIGNAL, Purpose, ask_to_detach, block_all, is_pending, let_through, set_default,
};
pub use passing::{Passing, Taken, sender};
