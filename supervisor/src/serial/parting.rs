//! What the follower does about an app that goes on natively.

use bubble::shared::state;
use tracee::{Stop, Stopped};

use super::departure::Parting;
use super::serial::Serial;
use super::throttle::Throttle;
use crate::base::Failure;

impl Serial<'_> {
    /// Interrupts all of its threads.
    pub(super) fn interrupt_all(&self) {
        self.app.iter().chain(self.threads.values()).for_each(|thread| self.departed.interrupt(thread));
    }

    /// Gives a thread back, unless it has stopped because it has left the image.
    pub(super) fn unless_departed(&mut self, stopped: Stopped, stop: &Stop) -> Result<Option<Stopped>, Failure> {
        let Some(slot) = &self.slot else { return Ok(Some(stopped)) };
        match self.departed.take(stopped, stop, slot)? {
            None => self.part_if_all_departed().map(|()| None),
            stopped => Ok(stopped),
        }
    }

    /// The app goes on natively if all its threads have left the image.
    pub(super) fn part_if_all_departed(&mut self) -> Result<(), Failure> {
        let has_result = self.slot.as_ref().is_some_and(|slot| slot.state() >= state::FINISHED);
        if !has_result || !self.departed.are_all(self.app.iter().chain(self.threads.values())) {
            return Ok(());
        }
        let taken = self.take_result(None);
        self.departed.part(self.attached.as_mut().map(|(borrowed, _)| borrowed))?;
        (self.app, self.throttle) = (None, Throttle::default());
        self.threads.clear();
        // Who has attached to it doesn't wait for its end.
        let ends = self.parting == Parting::Asked || self.attached.is_some();
        self.parting = if ends { Parting::Done } else { Parting::BehindRegion };
        // It lives on, whatever its result is.
        taken.unwrap_or_else(|why| self.fail(why));
        Ok(())
    }
}
