//! What is inserted beside plain calls: values that are kept, records in the buffer, versions of calls.

mod keep;
mod record;
mod version;

pub use keep::ValueRoutine;
pub use version::Versions;
