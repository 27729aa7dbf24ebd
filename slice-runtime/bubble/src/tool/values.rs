//! What a tool counts in first passes, on its way from slice to slice.
//!
//! ```text
//!   first pass of slice n: what it has counted  ──►  collector: folds it, and puts in its place all that was counted before slice n  ──►  second pass of slice n
//! ```
//! Both are a word with a length, and so many bytes. A serial run's process finds there what the programs before it have counted, and leaves all that there is then.

use crate::map::{RESULT, Region};
use crate::stream::STREAM;

/// Where in [`RESULT`] that is.
pub const VALUES: Region = Region { start: STREAM.start - SIZE, size: SIZE };
/// Bytes of [`RESULT`] that a result may have.
pub const MOST_RESULT: u64 = VALUES.start - RESULT.start;
/// Bytes of its length, which stands before each result of a slice: there are several if the tool ends slices by itself, or a region begins behind a warm-up.
pub const LENGTH: usize = 8;
/// In that word: up to the end of this result the tool has warmed up.
pub const WARMED_UP: u64 = 1 << 63;
/// Bytes of the length of values.
pub const HEAD: u64 = 8;
/// Bytes that there may be.
pub const MOST_VALUES: u64 = SIZE - HEAD;

const SIZE: u64 = 32 << 20;

/// Offset of a slot's [`VALUES`] in the run memory.
pub const fn values_at(slot: usize) -> u64 {
    crate::map::file::result_at(slot) + (VALUES.start - RESULT.start)
}
