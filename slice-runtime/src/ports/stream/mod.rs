//! What the tool writes while the app runs: `stream` takes it to the collector; `compared` is for tools that are checked.

mod compared;
#[expect(clippy::module_inception, reason = "the file of what the room is named for")]
mod stream;

pub use stream::{Pack, append, close, difference, flush, open, patience};
