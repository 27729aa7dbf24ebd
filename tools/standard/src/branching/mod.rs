//! Tools about branches.
//!
//! * `branches`: which kinds are executed. `bpred`: how often a predictor is wrong.

mod bpred;
mod branches;

pub use bpred::BranchPredictor;
pub use branches::Branches;
