//! What waits until a thread has come to a breakpoint.

use tracee::{Stopped, TraceError};

use super::thread::{Awaited, Thread};
use crate::sliced::instructions::AWAITED;

/// What waits for the end of a repeated string instruction, or of a block.
impl Thread {
    /// Whether anything does.
    pub(in crate::sliced::master) fn awaits(&self) -> bool {
        self.awaited.is_some()
    }

    /// Whether it has come to the breakpoint.
    pub(in crate::sliced::master) fn has_come(&self, stopped: &Stopped) -> Result<bool, TraceError> {
        Ok(self.awaited.is_some() && stopped.stands_at(AWAITED)?)
    }

    /// Lets it go on to `address`, where this is to take place. Gives a signal that has waited before.
    pub(in crate::sliced::master) fn lets_wait(
        &mut self,
        stopped: &mut Stopped,
        address: u64,
        what: Awaited,
    ) -> Result<Option<libc::siginfo_t>, TraceError> {
        stopped.set_breakpoint(AWAITED, address)?;
        Ok(match self.awaited.replace(what) {
            Some(Awaited::Signal(info)) => Some(info),
            _ => None,
        })
    }

    /// Nothing waits any more. Gives what has.
    pub(in crate::sliced::master) fn waits_no_more(
        &mut self,
        stopped: &mut Stopped,
    ) -> Result<Option<Awaited>, TraceError> {
        let Some(awaited) = self.awaited.take() else { return Ok(None) };
        stopped.clear_breakpoint(AWAITED)?;
        Ok(Some(awaited))
    }

    /// The same where something else has come first. Gives a signal that has waited.
    pub(in crate::sliced::master) fn drops_awaited(
        &mut self,
        stopped: &mut Stopped,
    ) -> Result<Option<libc::siginfo_t>, TraceError> {
        Ok(match self.waits_no_more(stopped)? {
            Some(Awaited::Signal(info)) => Some(info),
            _ => None,
        })
    }
}
