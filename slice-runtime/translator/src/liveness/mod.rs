//! Flags that are read later: an addition to a counter may change those that aren't.
//!
//! ```text
//!   translation ─► Findings (known?) ─► Ahead (a look at the code that follows) ─► which arithmetic flags are still read
//! ```

mod cache;
mod lookahead;

pub use cache::LivenessCache;
pub use lookahead::{FlagLookahead, may_be_seen};
