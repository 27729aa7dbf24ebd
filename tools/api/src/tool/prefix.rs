//! What was executed before a slice.

/// What was executed before a slice, a region, or the program that the app has become. The same whatever the cuts: the sum over all slices before, in which nothing is assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Prefix {
    /// Instructions of the app's, from its first one on; one that repeats (REP) as `Tool::repeat` says.
    pub instructions: u64,
}

impl Prefix {
    pub(crate) fn new(instructions: u64) -> Self {
        Self { instructions }
    }
}
