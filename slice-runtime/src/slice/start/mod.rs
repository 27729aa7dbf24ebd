//! Before a slice's first instruction.
//!
//! * `checkpoint`: a process that keeps it, so that the slice can be begun again.
//! * `aliases`: two mappings of one object stay one memory, though a slice's is a copy.

pub mod aliases;
pub mod checkpoint;
