//! A system call that the master is in.

use bubble::shared::SharedContents;
use machine::Registers;
use syscall_replay::Pending;

use super::check_calls::Before;
use crate::sliced::boundaries::{Plan, Then};
use crate::sliced::memory::FileWrite;

/// A system call that the master is in.
pub(in crate::sliced) struct Call {
    pub(in crate::sliced) pending: Pending,
    pub(super) plan: Plan,
    /// What is to be known of a write to a file that is mapped.
    pub(super) file_write: Option<FileWrite>,
    /// Memory at entry, if it is to be compared.
    pub(super) memory: Option<Before>,
    /// Registers at entry, where they will be needed or won't be the same at the exit.
    pub(in crate::sliced) entry: Option<Registers>,
    /// Memory at entry that other processes may write, if the slice is to end at this call.
    pub(in crate::sliced) shared: SharedContents,
    /// How the next slice starts, if this call ends one.
    pub(super) then: Then,
}
