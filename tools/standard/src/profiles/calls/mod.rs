//! Tools that know who has called whom.
//!
//! * `callgrind`: calls with what they cost, a graph. `stacks`: what was executed in each stack of calls, a `tree` of them.

mod callgrind;
mod stacks;
mod tree;

pub use callgrind::Callgrind;
pub use stacks::Stacks;
