//! Counters of blocks: how often each block was executed, counted without the tool's code.
//!
//! A block's counter is a word of [`COUNTS`], at the same address in all processes that share the translation, while what is there is each process's own, and zero when that
//! begins. The tables tell what each counter is for ([`CountedBlock`]): addresses alone don't, since other code may have lain there before.
//!
//! A block has a counter in each trace that it is part of.

use bubble::map::COUNTS;

use super::exit::SpaceId;

/// Counters of each space.
pub const COUNTERS: usize = (COUNTS.size / 2) as usize / size_of::<u64>();

/// What a counter counts.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountedBlock {
    /// First app pc of the block, or of the part of it that the trace has.
    pub first: u64,
    /// Arena offset of the code from there on.
    pub code: u32,
    /// Bytes of that.
    pub len: u32,
    /// Offset from the trace's first byte after which it has been counted.
    pub done: u32,
    /// Bytes of the block before that: they were executed, and counted, before the trace was entered. They lie before the other code.
    pub executed: u32,
    /// Which of the run's tools have it counted: a bit for each.
    pub tools: u32,
}

impl CountedBlock {
    /// First app pc of the whole block.
    pub fn block(&self) -> u64 {
        self.first - u64::from(self.executed)
    }

    /// App pc after the block.
    pub fn end(&self) -> u64 {
        self.first + u64::from(self.len)
    }
}

/// Address of a counter.
pub const fn block_counter_address(space: SpaceId, number: u32) -> u64 {
    let first = match space {
        SpaceId::Shared => 0,
        SpaceId::Own => COUNTERS as u64,
    };
    COUNTS.start + (first + number as u64) * size_of::<u64>() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_counter_has_a_place_of_its_own() {
        let last = COUNTERS as u32 - 1;
        assert_eq!(block_counter_address(SpaceId::Shared, 0), COUNTS.start);
        assert_eq!(block_counter_address(SpaceId::Shared, last) + 8, block_counter_address(SpaceId::Own, 0));
        assert_eq!(block_counter_address(SpaceId::Own, last) + 8, COUNTS.end());
    }
}
