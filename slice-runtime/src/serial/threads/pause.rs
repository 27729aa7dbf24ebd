//! Why the engine was left although the app goes on.

use crate::serial::calls::Underway;

/// Why the engine was left although the app goes on.
pub enum Pause {
    /// Others have waited for long.
    Turn,
    /// A call that may wait is to be made.
    Call(Underway),
    /// The thread ends with this status.
    End(u64),
    /// It goes on natively.
    Depart,
}
