//! Following a serial run: the image inside does all the work.
//!
//! ```text
//!   process at its entry ── take over ──► image (slice-runtime's serial host)
//!   signals for the app ──────────────►   │
//!   exec, new processes, threads ◄────────┘
//! ```
//!
//! * `serial`: the follower; `starting`: how it takes over; `adoption`: threads that the app had before.
//! * `throttle`: signals that are held back until the app has got on.
//! * `patience`: a tool that doesn't return.
//! * `departure`: the app goes on natively; `parting`: what the follower does about that.

mod adoption;
mod departure;
mod parting;
mod patience;
#[expect(clippy::module_inception, reason = "the file of what the room is named for")]
mod serial;
mod starting;
mod throttle;

pub use serial::follow;
