//! Each test has a deadline: one that is over says what it waited for, and leaves nothing running.
//!
//! What a test may take grows with the machine's load: a busy machine is no failure. All that waits in a test waits here:
//!
//! ```text
//!   a child, a condition ─► wait ──┐
//!   a command's output ──► output ─┼─► limit: over? ─► processes: told and killed ─► an error, or a panic
//!   a blocking call ─────► watch ──┘                     ▲
//!   a crate's unit tests ────────────► watchdog ─────────┘
//!   a test that is killed ───────────► guard: what it waited for is killed, too
//! ```

mod guard;
mod limit;
mod output;
mod processes;
mod wait;
mod watch;
pub mod watchdog;

pub use guard::Guarded;
pub use limit::{begin, is_slow, stretched};
pub use output::output;
pub use wait::{wait_at_most, wait_for, wait_until};
pub use watch::Watch;
