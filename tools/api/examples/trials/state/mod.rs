//! What tools do by their own state, and read: calls that a test decides about, values that are kept within a block, memory of the app's.

mod keeping;
mod reading;
mod tested;

pub use keeping::Keeping;
pub use reading::{Reading, ReadsInDrain};
pub use tested::Tested;
