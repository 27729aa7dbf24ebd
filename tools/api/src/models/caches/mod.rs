//! Caches that replace the line that was used least recently (LRU), in levels.
//!
//! ```text
//!   sets ─► level ─► hierarchy
//!   shape ──┴──────────┘
//! ```
//!
//! * `shape`: sizes.
//! * `sets`: the lines of each set, as far as they are known.
//! * `level`: one cache of a slice: what it knows, and what it leaves open.
//! * `hierarchy`: several, each of which sees the misses of those above it.

mod hierarchy;
mod level;
mod sets;
mod shape;
#[cfg(test)]
mod tests;

pub use hierarchy::Hierarchy;
pub use shape::{CacheShape, HierarchyShape};
