//! What comes after a stop of the master, and what the end of a slice is.

use bubble::behind::Behind;
use bubble::end::End;
use tracee::{Stop, Stopped};

use crate::app::Key;
use crate::base::Failure;
use crate::report::Boundary;

/// What comes after a stop.
pub enum Next {
    /// The master goes on; the signal is delivered.
    Resume(Stopped, i32),
    /// It was stopped by a stopping signal and stays so.
    Stay(Stopped),
    /// It stands before a call that fails because of slices, and makes it again when one has ended.
    Wait(Stopped),
    /// It stands at the entry of the call by which the first of several threads ends, and stays there until the last one has ended: as long as it is there, so is the process by its
    /// number.
    Ends(Stopped),
    /// The slice ends.
    Cut(Stopped, Cut),
    /// The time for the slice is over, but here it can't be cut: ask again soon.
    AskAgain(Stopped),
    /// The app does what sliced mode doesn't follow.
    GiveUp(Stopped, Stop, Failure),
}

/// The end of a slice.
pub struct Cut {
    /// Why.
    pub kind: Boundary,
    /// Where; `None` before the first slice.
    pub end: Option<Box<End>>,
    /// What the next slice starts with.
    pub then: Then,
    /// What it is behind then, but for a handler that is still to be entered.
    pub behind: Behind,
}

impl Cut {
    /// One that isn't behind a call.
    pub fn new(kind: Boundary, end: Option<Box<End>>, then: Then) -> Self {
        Self { kind, end, then, behind: Behind::default() }
    }
}

/// What the next slice starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// The state as it is.
    Fork,
    /// The same, once no slice is left that began before: those hold what the app is about to be alone with.
    LoneFork,
    /// The state behind the call at whose entry the master stands, which isn't made before no slice is left that may look at a file: the
    /// app may change it afterwards.
    Write {
        /// The file.
        file: Key,
        /// The call.
        number: u64,
        /// What it is about.
        args: [u64; 6],
    },
    /// The handler of this signal, at whose delivery the master stands.
    Handler(i32),
    /// A program that was just loaded.
    Image,
    /// There is none: the app ends by a call.
    Nothing,
    /// There is none: the app is killed by a signal.
    Death {
        /// Which.
        signal: i32,
        /// Whether the instruction at hand raises it again if it is executed again.
        by_instruction: bool,
    },
}

impl Then {
    /// The signal at whose delivery the master stands: it is lost unless the master goes on with it.
    pub fn signal(&self) -> Option<i32> {
        match self {
            Self::Handler(signal) | Self::Death { signal, .. } => Some(*signal).filter(|signal| *signal != 0),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A trap isn't raised again where the app goes on: without it the app would live on.
    #[test]
    fn who_stands_at_a_delivery_is_let_go_with_the_signal() {
        let death = |signal| Then::Death { signal, by_instruction: false };
        assert_eq!(death(libc::SIGTRAP).signal(), Some(libc::SIGTRAP));
        assert_eq!(Then::Handler(libc::SIGUSR1).signal(), Some(libc::SIGUSR1));
        assert_eq!(death(0).signal(), None, "the app lives on");
        assert_eq!(Then::Fork.signal(), None);
    }
}
