//! What is inserted beside plain calls: lists and states, values that are kept, records in the buffer, versions of calls.

mod forms;
mod keep;
mod record;
mod version;

pub use forms::{ListRoutine, StateRoutine};
pub use keep::ValueRoutine;
pub use version::Versions;
