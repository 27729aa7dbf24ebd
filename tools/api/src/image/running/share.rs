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
    /// When another thread has the turn it has the counts of blocks be that one's: the first tool that sees each thread by itself does.
    pub switches_counts: bool,
}

impl Share {
    /// Bytes that there are for local states.
    pub const ROOM: u64 = LOCAL.size - PREFIX.size - FIRST_PASS.size;

    /// The only tool's.
    pub const ALONE: Self =
        Self { local: LOCAL.start, tool: 1, first_register: 0, registers: KEPT as u8, switches_counts: true };

    /// Those of several tools, at most [`MOST_TOOLS`] of them: the size of the local state, and whether it sees each thread by itself.
    ///
    /// # Errors
    /// If the local states don't fit.
    pub fn of(tools: &[(usize, bool)]) -> Result<Vec<Self>, String> {
        /// The most that a local state may ask for: see `inject`.
        const ALIGNMENT: u64 = 4096;
        let registers = (KEPT / tools.len().max(1)) as u8;
        let switches = tools.iter().position(|(_, each_thread)| *each_thread);
        let mut used = 0;
        let mut shares = Vec::new();
        for (index, (size, _)) in tools.iter().enumerate() {
            let local = LOCAL.start + used;
            used += (*size as u64).next_multiple_of(ALIGNMENT);
            let (first_register, switches_counts) = (index as u8 * registers, switches == Some(index));
            shares.push(Self { local, tool: 1 << index, first_register, registers, switches_counts });
        }
        if used > Self::ROOM {
            return Err(format!(
                "the local states of these tools, {used} bytes, are too large for one process: run them one by one"
            ));
        }
        Ok(shares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_nothing_in_common() {
        let shares = Share::of(&[(8, false), (5000, true), (0, true), (1, false)]).unwrap();
        assert_eq!(shares.iter().map(|share| share.local - LOCAL.start).collect::<Vec<_>>(), [0, 4096, 12288, 12288]);
        assert_eq!(shares.iter().map(|share| share.tool).collect::<Vec<_>>(), [1, 2, 4, 8]);
        let registers: Vec<_> = shares.iter().map(|share| (share.first_register, share.registers)).collect();
        assert_eq!(registers, [(0, 4), (4, 4), (8, 4), (12, 4)]);
        assert!(shares.iter().map(|share| share.switches_counts).eq([false, true, false, false]));
        assert!(Share::of(&[(Share::ROOM as usize, false), (1, false)]).is_err());
        assert_eq!(Share::of(&[(8, true)]).unwrap(), [Share::ALONE]);
    }
}
