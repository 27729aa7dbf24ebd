//! Tools about branches.
//!
//! * `branches`: which kinds are executed. `bpred`: how often a predictor is wrong. `conditional`: its predictors for conditional branches.

mod bpred;
mod branches;
mod conditional;

pub use bpred::BranchPredictor;
pub use branches::Branches;
