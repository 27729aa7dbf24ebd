//! What events are about.

/// What an event is about.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// Starts and ends of slices.
    Boundary = 0,
    /// System calls and instructions whose results are recorded.
    Record = 1,
    /// Translations that are made, and that are dropped.
    Translation = 2,
    /// Exits that are led to a translation.
    Link = 3,
    /// Faults and signals.
    Fault = 4,
    /// A translation, written out.
    Trace = 5,
    /// A slice that waits for a debugger.
    Stop = 6,
}

impl EventKind {
    /// All, in the order of their numbers.
    pub const ALL: [Self; 7] =
        [Self::Boundary, Self::Record, Self::Translation, Self::Link, Self::Fault, Self::Trace, Self::Stop];

    /// The word for it in a line of the log.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Boundary => "boundary",
            Self::Record => "record",
            Self::Translation => "translation",
            Self::Link => "link",
            Self::Fault => "fault",
            Self::Trace => "trace",
            Self::Stop => "stop",
        }
    }

    /// Its bit in a set of kinds.
    pub const fn bit(self) -> u32 {
        1 << self as u32
    }
}

/// In place of a slice's number: the process is no slice, but the app in a serial run.
pub const SERIAL: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_the_numbers_of_their_places() {
        for (n, kind) in EventKind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, n);
        }
    }
}
