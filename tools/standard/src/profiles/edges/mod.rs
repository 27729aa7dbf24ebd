//! Tools that know where branches go.
//!
//! * `tool`: `edges`, each branch with its target. `branches`: what a slice counts of them, for other tools too, with a `log`.

mod branches;
mod log;
mod tool;

pub use branches::{Branch, Branches, CountsBranches, Edge, Went, count_branch};
pub use tool::EdgeProfile;
