//! What of a process is a tool's: all, if it is alone.

use bubble::map::{FIRST_PASS, LOCAL, PREFIX};
use bubble::shared::MOST_TOOLS;
use translator::abi::KEPT;

const _: () = assert!(KEPT >= MOST_TOOLS, "each tool has a tool register");

/// A tool's share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Where its local state lies.
    pub local: u64,
    /// Which of the run's tools it is: a bit.
    pub tool: u32,
    /// Its first tool register.
    pub first_register: u8,
    /// How many it has.
    pub registers: u8,
}

impl Share {
    /// Bytes that there are for local states.
    pub const ROOM: u64 = LOCAL.size - PREFIX.size - FIRST_PASS.size;

    /// The only tool's.
    pub const ALONE: Self = Self { local: LOCAL.start, tool: 1, first_register: 0, registers: KEPT as u8 };

    /// Those of several tools whose local states have these sizes, at most [`MOST_TOOLS`] of them.
    ///
    /// # Errors
    /// If the local states don't fit.
    pub fn of(sizes: &[usize]) -> Result<Vec<Self>, String> {
        /// The most that a local state may ask for: see `inject`.
        const ALIGNMENT: u64 = 4096;
        let registers = (KEPT / sizes.len().max(1)) as u8;
        let mut used = 0;
        let mut shares = Vec::new();
        for (index, size) in sizes.iter().enumerate() {
            let local = LOCAL.start + used;
            used += (*size as u64).next_multiple_of(ALIGNMENT);
            shares.push(Self { local, tool: 1 << index, first_register: index as u8 * registers, registers });
        }
        if used > Self::ROOM {
            return Err(format!(
                "the local states of these tools, {used} bytes, are too large for one process: run them one by one"
            ));
        }
        Ok(shares)
    }

    /// Whether it is the first tool's.
    pub fn is_first(&self) -> bool {
        self.tool == 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_nothing_in_common() {
        let shares = Share::of(&[8, 5000, 0, 1]).unwrap();
        assert_eq!(shares.iter().map(|share| share.local - LOCAL.start).collect::<Vec<_>>(), [0, 4096, 12288, 12288]);
        assert_eq!(shares.iter().map(|share| share.tool).collect::<Vec<_>>(), [1, 2, 4, 8]);
        let registers: Vec<_> = shares.iter().map(|share| (share.first_register, share.registers)).collect();
        assert_eq!(registers, [(0, 4), (4, 4), (8, 4), (12, 4)]);
        assert!(shares[0].is_first() && !shares[1].is_first());
        assert!(Share::of(&[Share::ROOM as usize, 1]).is_err());
        assert_eq!(Share::of(&[8]).unwrap(), [Share::ALONE]);
    }
}
