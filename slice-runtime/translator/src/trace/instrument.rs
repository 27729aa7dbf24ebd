//! Who puts analysis calls into a trace.

use super::trace::Trace;

/// Who puts analysis calls into a trace.
pub trait Instrument {
    /// A trace is about to be translated: insert analysis calls.
    ///
    /// Must be a pure function of the trace and of the run's options: what it makes is shared with other slices.
    fn instrument(&self, trace: &mut Trace);
}
