//! What is inserted beside plain calls: values that are kept, records in the buffer.

mod keep;
mod record;

pub use keep::ValueRoutine;
