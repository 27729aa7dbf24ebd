//! The run as a drawing, as Figure 1 of the SuperPin paper draws it (`-timeline FILE`).
//!
//! ```text
//!   forks, ends, runs, merges of slices ──► Timeline ──► page: one HTML file (page.html) with the times in it, and what draws them (draw.js)
//! ```
//!
//! * `timeline`: what happened when.
//! * `page`: its text.

mod page;
#[expect(clippy::module_inception, reason = "the room is named for what it gives")]
mod timeline;

pub use page::{Shown, page};
pub use timeline::{Merged, Ran, Timeline, What};
