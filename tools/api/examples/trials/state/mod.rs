//! What tools do by their own state, and read: calls that a test decides about, memory of the app's.

mod reading;
mod tested;

pub use reading::{Reading, ReadsInDrain};
pub use tested::Tested;
