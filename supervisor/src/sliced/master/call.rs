//! A system call that the master is in.

use bubble::shared::SharedContents;
use machine::Registers;
use syscall_replay::PendingCall;
use syscall_replay::table::{Class, Special};

use super::check_calls::Before;
use crate::sliced::boundaries::{Plan, Then};
use crate::sliced::memory::FileWrite;

/// A system call that the master is in.
pub(in crate::sliced) struct OpenCall {
    pub(super) pending: PendingCall,
    pub(super) plan: Plan,
    /// What is to be known of a write to a file that is mapped.
    pub(super) file_write: Option<FileWrite>,
    /// What others have stored meanwhile is recorded with it.
    pub(super) brings_news: bool,
    /// Memory at entry, if it is to be compared.
    pub(super) memory: Option<Before>,
    /// Registers at entry, where they will be needed or won't be the same at the exit.
    pub(super) entry: Option<Registers>,
    /// Memory at entry that other processes may write, if the slice is to end at this call.
    pub(super) shared: SharedContents,
    /// How the next slice starts, if this call ends one.
    pub(super) then: Then,
    /// It has failed before because of a program that is executed.
    pub(super) is_second: bool,
}

impl OpenCall {
    /// Whether a handler returns by it.
    pub(super) fn is_signal_return(&self) -> bool {
        self.pending.rule.class == Class::Special(Special::SignalReturn)
    }

    /// Whether its record tells what the table says of it and no more.
    pub(super) fn is_recorded_alone(&self) -> bool {
        let is_replayed = self.pending.rule.class == Class::Replay && self.plan == Plan::Record(None);
        is_replayed && self.file_write.is_none() && !self.brings_news
    }

    /// Whether the last slice has ended before it.
    pub(super) fn is_alone(&self) -> bool {
        matches!(self.then, Then::Write { .. })
    }
}
