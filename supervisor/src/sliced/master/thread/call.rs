//! A system call that the master is in.

use bubble::end::SharedContents;
use machine::Registers;
use syscall_replay::PendingCall;
use syscall_replay::table::{Class, Special};
use syscall_replay::threads::{Length, length_of};

use super::broken_off::Again;
use super::left_words::LeftWords;
use crate::report::Boundary;
use crate::sliced::boundaries::{Plan, Then};
use crate::sliced::master::check_calls::Before;
use crate::sliced::memory::FileWrite;

/// A system call that the master is in.
pub(in crate::sliced) struct OpenCall {
    pub(in crate::sliced::master) pending: PendingCall,
    pub(in crate::sliced::master) plan: Plan,
    /// What is to be known of a write to a file that is mapped.
    pub(in crate::sliced::master) file_write: Option<FileWrite>,
    /// What others have stored meanwhile is recorded with it.
    pub(in crate::sliced::master) brings_news: bool,
    /// Memory at entry, if it is to be compared.
    pub(in crate::sliced::master) memory: Option<Before>,
    /// Registers at entry, where they will be needed or won't be the same at the exit.
    pub(in crate::sliced::master) entry: Option<Registers>,
    /// Memory at entry that other processes may write, if the slice is to end at this call.
    pub(in crate::sliced::master) shared: SharedContents,
    /// How the next slice starts, if this call ends one.
    pub(in crate::sliced::master) then: Then,
    /// What the thread leaves behind that ends by it.
    pub(in crate::sliced::master) left_words: Option<LeftWords>,
    /// How it is made, if it was broken off before.
    pub(in crate::sliced::master) again: Again,
    /// Another call is made in its place, which does a part of what it does.
    pub(in crate::sliced::master) part: Option<Part>,
}

/// What that other call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sliced::master) enum Part {
    /// It only waits: the call is made behind that.
    Waits,
    /// It gets what is there, and waits once more if there is nothing.
    Gets,
}

impl OpenCall {
    /// Whether a handler returns by it.
    pub(in crate::sliced::master) fn is_signal_return(&self) -> bool {
        self.pending.rule.class == Class::Special(Special::SignalReturn)
    }

    /// Whether its record tells what the table says of it and no more.
    pub(in crate::sliced::master) fn is_recorded_alone(&self) -> bool {
        let is_replayed = self.pending.rule.class == Class::Replay && self.plan == Plan::Record(None);
        is_replayed && self.file_write.is_none() && !self.brings_news
    }

    /// How long it may take, if others may have the turn meanwhile.
    pub(in crate::sliced::master) fn length(&self) -> Length {
        let is_ordinary = matches!(self.plan, Plan::Record(None) | Plan::Cut(_, None)) && self.then == Then::Fork;
        let is_waited_for = matches!(self.pending.rule.class, Class::Replay | Class::Boundary);
        if !is_ordinary || !is_waited_for || self.file_write.is_some() || self.again.is_second {
            return Length::Instant;
        }
        match length_of(self.pending.number, &self.pending.args) {
            // Unless somebody else gets it.
            Length::Long if self.again.is_ready => Length::Short,
            length => length,
        }
    }

    /// Others have the turn before it is over: the slice in which it was entered may end, and memory changes by what they do.
    pub(in crate::sliced::master) fn outlives_slice(&mut self) {
        self.memory = None;
        if let Plan::Cut(Boundary::Timeout | Boundary::Records, refused) = self.plan {
            self.plan = Plan::Record(refused);
        }
    }

    /// Whether the last slice has ended before it.
    pub(in crate::sliced::master) fn is_alone(&self) -> bool {
        matches!(self.then, Then::Write { .. })
    }
}
