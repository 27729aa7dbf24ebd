//! Where a thread goes on.

use machine::CachePc;

/// Where a thread goes on.
pub(super) enum Next {
    /// At the `rip` of the app's state.
    Dispatch,
    /// At a place in the cache that belongs to that state.
    Cache(CachePc),
    /// The host wants to leave.
    Leave,
}
