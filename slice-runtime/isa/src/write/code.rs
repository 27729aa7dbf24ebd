//! A buffer of machine code that knows where it will run.
//!
//! Code is written into ordinary memory and copied to its place when it is complete; everything position-dependent
//! is computed for that place. Invariant: `bytes[i]` will lie at `base + i`.

use std::ops::Range;

use machine::CachePc;

use crate::decode::MAX_LEN;

/// Machine code under construction.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// The code so far.
    pub bytes: Vec<u8>,
    /// Where its first byte will lie.
    pub base: CachePc,
    /// Addresses that it names by their distance from the first of them, which GS holds. All others are named by their distance from the code.
    pub through_gs: Range<u64>,
}

/// A forward jump whose target isn't known yet. Dropping it unbound leaves a jump to the next instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "an unbound jump goes nowhere"]
pub struct Fixup {
    /// Where in the buffer the displacement lies.
    at: usize,
    /// Bytes of the displacement: 1 or 4.
    size: usize,
}

impl Code {
    /// An empty buffer for code that will lie at `base`.
    pub fn new(base: CachePc) -> Code {
        Code { base, ..Code::default() }
    }

    /// The distance from where GS points, if `address` is named by that.
    pub fn gs_offset(&self, address: u64) -> Option<u32> {
        self.through_gs.contains(&address).then(|| (address - self.through_gs.start) as u32)
    }

    /// Address of the next byte.
    pub fn here(&self) -> CachePc {
        CachePc(self.base.0 + self.bytes.len() as u64)
    }

    /// Makes the jump `fixup` go to here.
    ///
    /// # Panics
    /// If an 8-bit displacement doesn't reach: the caller chose the wrong form.
    pub fn bind(&mut self, fixup: Fixup) {
        let distance = self.bytes.len() - (fixup.at + fixup.size);
        if fixup.size == 1 {
            let short = i8::try_from(distance).expect("a short jump over more than 127 bytes");
            self.bytes[fixup.at] = short as u8;
        } else {
            let near = i32::try_from(distance).expect("a jump over more than 2 GiB");
            self.bytes[fixup.at..fixup.at + 4].copy_from_slice(&near.to_le_bytes());
        }
    }

    /// Whether the jump `fixup` reaches here.
    pub(crate) fn is_reached_by(&self, fixup: Fixup) -> bool {
        fixup.size > 1 || self.bytes.len() - (fixup.at + fixup.size) <= i8::MAX as usize
    }

    /// A fixup for a displacement of `size` bytes that was just written as zero.
    pub(crate) fn fixup_before_here(&self, size: usize) -> Fixup {
        Fixup { at: self.bytes.len() - size, size }
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The first `len` of these bytes. To copy all of them is a few instructions, a part of them a call.
    pub(crate) fn put_instruction(&mut self, bytes: &[u8; MAX_LEN], len: usize) {
        let end = self.bytes.len() + len;
        self.bytes.extend_from_slice(bytes);
        self.bytes.truncate(end);
    }

    pub(crate) fn put_i32(&mut self, value: i32) {
        self.put(&value.to_le_bytes());
    }

    /// Displacement that makes code ending `after` bytes from here reach `address`.
    ///
    /// # Panics
    /// If it is further than 2 GiB: everything in the bubble that generated code touches is nearer.
    pub(crate) fn displacement(&self, address: u64, after: usize) -> i32 {
        let end = self.here().0 + after as u64;
        i32::try_from(address.wrapping_sub(end) as i64)
            .unwrap_or_else(|_| panic!("{address:#x} is out of reach of generated code at {end:#x}"))
    }

    /// Whether RIP-relative code near here reaches `address`, with room to spare for this buffer's growth.
    pub fn reaches(&self, address: u64) -> bool {
        const MARGIN: i64 = 1 << 20;
        let distance = address.wrapping_sub(self.here().0) as i64;
        (i64::from(i32::MIN) + MARGIN..i64::from(i32::MAX) - MARGIN).contains(&distance)
    }
}
