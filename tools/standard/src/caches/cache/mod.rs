//! `cache`: which routines, lines and instructions miss which caches.
//!
//! ```text
//!   options ─┐
//!   places ──┴─► tool ─► rows ─► text, cachegrind
//! ```
//!
//! * `options`: what the command line asks for.
//! * `places`: misses by instruction, as slices count them.
//! * `tool`: what is instrumented. `rows`: what is known of each instruction, and of all in a routine or line. `text`: a table of them. `cachegrind`: a file as valgrind's cachegrind writes it.

mod cachegrind;
mod options;
mod places;
mod rows;
mod text;
mod tool;

pub use tool::CacheProfile;
