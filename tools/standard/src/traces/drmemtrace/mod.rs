//! Traces in the format of DynamoRIO's drmemtrace, for its simulators and analysis tools.
//!
//! * `entries`: what a file is made of. `words`: what is noted of an instruction as it is executed, and the entries that are made of it. `follow`: which thread is executed, signals, and new programs.

mod entries;
mod follow;
mod words;

pub use entries::{end, head};
pub use follow::Follow;
pub use words::instrument;
