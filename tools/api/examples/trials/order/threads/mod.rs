//! Tools that look at threads.
//!
//! * `told`: what is told of each, and by number.
//! * `stacks`: a call stack for each.
//! * `last`: one that is wrong.

mod last;
mod stacks;
mod told;

pub use last::LastBlock;
pub use stacks::Deepest;
pub use told::ToldOfThreads;
