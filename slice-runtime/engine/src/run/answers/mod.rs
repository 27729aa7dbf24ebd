//! What is done where translated code was left for something special.
//!
//! * `change`: a routine of the tool's changes the app.
//! * `questions`: a routine has the host asked.
//! * `selectors`: null selectors are loaded for the app.

mod change;
mod questions;
mod selectors;

pub use questions::ask;
pub(super) use questions::take;
