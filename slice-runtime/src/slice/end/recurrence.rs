//! Whether the complete state at a slice's end recurs.
//!
//! A loop that changes nothing, neither registers nor memory, and waits until a signal handler changes something for it,
//! passes through the same state each time round. Where the master was interrupted in it, nobody can tell which time
//! that was: the slice ends at the first. So after its end, with its result handed in, a slice lets the app go on
//! for a short while. If it comes back to that very state before it asks the outside for anything, the boundary is
//! ambiguous, and the run says so.
//!
//! Most ends need no watch. What the app does without input is determined by its state: if it came back to the end's, it would go round for
//! ever. So where the next slice, which starts in that very state, is known to have come to a system call or the like, without a signal
//! before, the state doesn't recur; and that slice has to come there again, or the run fails.
//!
//! The time is a small part of what the slice itself took, so that watching costs next to nothing. A state that
//! recurs only after longer than that isn't noticed: the app would have to compute for so long and leave no
//! trace of it.

use super::ahead::Ahead;
use super::interruption;
use crate::ports::cpu_time;

/// The app is being watched.
pub struct Watch {
    has_looked: bool,
    ahead: Option<Ahead>,
}

impl Watch {
    /// Starts the time: the engine is interrupted when it is over. `None` if there is no timer to be had.
    pub fn start() -> Option<Self> {
        interruption::after(interruption::watched_for(cpu_time())).ok()?;
        Some(Self { has_looked: false, ahead: None })
    }

    /// This is a process that [looks ahead](super::ahead) from a point.
    pub fn ahead(ahead: Ahead) -> Self {
        Self { has_looked: false, ahead: Some(ahead) }
    }

    /// If it is.
    pub fn as_ahead(&mut self) -> Option<&mut Ahead> {
        self.ahead.as_mut()
    }

    /// Translated code was left where the state is, without having executed anything: the next look is the first once more.
    pub fn begins_again(&mut self) {
        self.has_looked = false;
    }

    /// Whether this is the first look at the end's state: it is the end itself, where the watch starts.
    pub fn is_first_look(&mut self) -> bool {
        !std::mem::replace(&mut self.has_looked, true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_first_look_is_the_end_itself() {
        let mut watch = Watch { has_looked: false, ahead: None };
        assert!(watch.is_first_look());
        assert!(!watch.is_first_look());
        watch.begins_again();
        assert!(watch.is_first_look() && watch.as_ahead().is_none());
    }
}
