//! What tools do by their own state, and read: calls that a test decides about, values that are kept within a block, versions, records in the buffer, memory of the app's.

mod keeping;
mod reading;
mod recording;
mod registers;
mod tested;
mod versions;

pub use keeping::Keeping;
pub use reading::{Reading, ReadsInDrain};
pub use recording::Recording;
pub use registers::Registers;
pub use tested::Tested;
pub use versions::VersionsOf;
