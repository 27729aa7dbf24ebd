//! How the tool's analysis routines are called, as processes tell it.

/// Routines that a slice tells of at most.
pub const AWAY: usize = 12;

/// How an analysis routine is called.
pub mod way {
    /// By the runtime: translated code is left for it.
    pub const LEAVES: u64 = 0;
    /// By translated code, with all of the app's state aside.
    pub const ASIDE: u64 = 1;
    /// By translated code, which keeps what it changes.
    pub const CALLED: u64 = 2;
    /// It isn't: what it does is done in place.
    pub const IN_PLACE: u64 = 3;
    /// By translated code, with those vector registers aside that it changes.
    pub const PARTLY: u64 = 4;
    /// By the runtime, which hands over words of the buffer.
    pub const TAKES_WORDS: u64 = 5;

    /// Nanoseconds that the way to such a routine and back takes, as measured on some processors (docs/report.md). It isn't in [`Away::ns`](super::Away::ns).
    pub const fn detour_ns(way: u64) -> u64 {
        match way {
            LEAVES => 400,
            ASIDE => 250,
            PARTLY => 10,
            _ => 0,
        }
    }
}

/// Why translated code is left for a routine, or the runtime called: bits.
pub mod why {
    /// The runtime alone finds what it is told.
    pub const TOLD: u64 = 1;
    /// Counters are to be added up first.
    pub const COUNTERS: u64 = 2;
    /// It is called if another says so.
    pub const TESTED: u64 = 4;
    /// It is a test, and can't be put in place.
    pub const IS_TEST: u64 = 16;
    /// It is switched off that translated code calls routines.
    pub const OFF: u64 = 8;
}

/// An analysis routine: how it is called. Addresses are those of the image in the bubble.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Away {
    /// It.
    pub routine: u64,
    /// One of [`way`].
    pub way: u64,
    /// Some of [`why`], where that is known.
    pub why: u64,
    /// Calls that were translated.
    pub places: u64,
    /// Its calls.
    pub calls: u64,
    /// CPU nanoseconds in it, estimated.
    pub ns: u64,
    /// Its name, a constant of the image; 0 where this process doesn't know it.
    pub name: u64,
    /// Bytes of that.
    pub name_len: u64,
}
