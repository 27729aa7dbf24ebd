//! Doors: addresses of the runtime that emitted code jumps to directly, where it reaches them.

/// The doors.
#[derive(Clone, Copy, Debug)]
pub struct Doors {
    /// Where an exit stub leaves.
    pub leave_by_stub: u64,
    /// Where an IBL stub goes on that isn't the target's, when there is no other.
    pub stub_miss: u64,
}
