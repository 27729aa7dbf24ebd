//! Tools that write down what comes, in the order of execution.
//!
//! * `ordered`: calls, also into a stream. `told`: system calls and signals.

mod ordered;
mod told;

pub use ordered::{Ordered, Written};
pub use told::Told;
