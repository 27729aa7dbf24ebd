//! What was executed before a slice.

use translator::trace::AnalysisCall;

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

/// A [`crate::FirstPass`] of a tool with a local state, whatever it counts.
pub trait CountsBefore<T, L> {
    /// Begins with what was counted before, encoded.
    #[doc(hidden)]
    fn begin(&self, before: &[u8]) -> Result<(), String>;
    /// What it inserts into a trace.
    #[doc(hidden)]
    fn insert(&self, tool: &T, trace: &translator::trace::Trace) -> Vec<AnalysisCall>;
    /// Tells the tool what was counted until now.
    #[doc(hidden)]
    fn tell(&self, tool: &T, local: &mut L, prefix: Prefix) -> Result<(), String>;
    /// What was counted until now, encoded.
    #[doc(hidden)]
    fn counted(&self) -> Result<Vec<u8>, String>;
    /// Adds to `total` what the next slice has counted; both are encoded.
    #[doc(hidden)]
    fn fold(&self, total: &mut Vec<u8>, counted: &[u8]) -> Result<(), String>;
}
