//! The page, the unit in which memory is mapped.

/// Its bytes.
pub const PAGE: u64 = 4096;
