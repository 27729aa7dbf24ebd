//! What is known of analysis routines, from their own machine code.
//!
//! ```text
//!   Call ─► Known     does it add a constant to a word? which registers does it change?
//!        ─► routine   its code with constant arguments folded in, to be put in place
//!   Trace ─► merge    one call for a block instead of one for each of its instructions
//! ```

mod known;
mod merge;
mod routine;

pub use known::{Addition, RoutineFacts};
pub use merge::merge_counters;
pub use routine::{constant, routine_of, test_of};
