//! Processes that the app starts: they run natively from their first instruction on.
//!
//! * `child`: the state in which one starts.
//! * `native`: leaving the image for good, with the app's registers, dispositions and mask.

mod child;
pub mod native;

pub use child::Child;
