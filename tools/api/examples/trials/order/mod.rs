//! Tools that write down what comes, in the order of execution.
//!
//! * `ordered`: calls, also into a stream. `told`: system calls and signals. `intervals`: which part of the run it is.

mod intervals;
mod ordered;
mod threads;
mod told;

pub use intervals::Intervals;
pub use ordered::{Ordered, Written};
pub use threads::{Deepest, LastBlock, ToldOfThreads};
pub use told::Told;
