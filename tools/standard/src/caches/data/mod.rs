//! `data`: which variables and allocated blocks miss which caches.
//!
//! ```text
//!   owners ─┬─► misses ────────┐
//!           └─► allocations ───┴─► tool ─► rows ─► text
//! ```
//!
//! * `owners`: who has allocated memory last. `allocations`: calls of routines that allocate, in the buffer.
//! * `misses`: by what they were of, as slices count them.
//! * `tool`: what is instrumented. `rows`: what is printed, by name. `text`: a table of it.

mod allocations;
mod misses;
mod owners;
mod rows;
mod text;
mod tool;

pub use tool::DataProfile;
