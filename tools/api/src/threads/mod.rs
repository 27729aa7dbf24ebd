//! The app's threads, for tools.
//!
//! ```text
//!   path ◄─ thread ◄─ event
//!   threads
//! ```
//!
//! * `thread`: who one is. `path`: by what it is told from others in every run.
//! * `event`: one that begins, goes on, or ends.
//! * `threads`: what a tool wants to see of them.

mod event;
mod path;
mod thread;
#[expect(clippy::module_inception, reason = "the file of the enum Threads")]
mod threads;

pub use event::ThreadEvent;
pub use path::ThreadPath;
pub use thread::ThreadInfo;
pub use threads::Threads;
