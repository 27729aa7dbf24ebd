//! Branch predictors of two-bit counters.
//!
//! ```text
//!   shape ─► predictor ◄─ counter
//! ```
//!
//! * `shape`: which counter belongs to a branch: by its address, and by which branches before it were taken.
//! * `counter`: a counter whose value at the start isn't known, as a function of that.
//! * `predictor`: all of them.

mod counter;
#[expect(clippy::module_inception, reason = "the file of the type Predictor")]
mod predictor;
mod shape;
#[cfg(test)]
mod tests;

pub use predictor::Predictor;
pub use shape::{PredictorKind, PredictorShape};
