//! Where the components of the extended state lie in an XSAVE area, as the processor tells it: whoever reads or writes such an area asks here.
//!
//! x87 and SSE have the same places everywhere, in front of [`EXTENDED_AT`].

use std::ops::Range;

use crate::cpuid;

/// Where extended components begin: behind the legacy region and the header.
pub const EXTENDED_AT: usize = 576;

/// What is known of an extended component.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ComponentPlace {
    /// Its offset in the standard form.
    pub start: usize,
    /// Its length; 0 if the processor doesn't have it.
    pub len: usize,
    /// Whether it begins at a multiple of 64 in the compacted form.
    pub is_aligned: bool,
}

impl ComponentPlace {
    /// This processor's component with this bit, from the third on.
    pub fn own(bit: u32) -> Self {
        const ALIGNED: u32 = 2;
        let [len, start, about, _] = cpuid::ask(0xd, bit);
        Self { start: start as usize, len: len as usize, is_aligned: about & ALIGNED != 0 }
    }

    /// Its bytes in the standard form.
    pub fn range(self) -> Range<usize> {
        self.start..self.start + self.len
    }
}
