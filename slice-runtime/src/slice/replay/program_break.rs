//! The app's program break, as a slice knows it: a number of the app's state.
//!
//! The kernel's own break of a process is part of no state that could be handed on, and whoever runs a slice may have another one. So a slice makes no such
//! call: where the master's break grew it maps new memory, and where it shrank it unmaps what was there, which is what the kernel does.
//!
//! ```text
//!   heap │ pages of the break │        brk(b)  ──►  │ pages of the break │ new, zero │
//!                             a                                          a     b: rounded up
//! ```

use machine::PAGE;

/// Where the break is.
#[derive(Clone, Copy, Debug)]
pub struct ProgramBreak(u64);

/// What becomes of whole pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// Nothing.
    Nowhere,
    /// There are new ones.
    Up {
        /// The first.
        start: u64,
        /// Bytes of all of them.
        len: u64,
    },
    /// They are given back, whatever is mapped there by now.
    Down {
        /// The first.
        start: u64,
        /// Bytes of all of them.
        len: u64,
    },
}

impl ProgramBreak {
    /// The app's, at a boundary.
    pub fn at(address: u64) -> Self {
        Self(address)
    }

    /// `brk(wanted)` gave `result` in the master.
    ///
    /// # Errors
    /// If it can't have done that: a message.
    pub fn follow(&mut self, wanted: u64, result: u64) -> Result<Moved, String> {
        let before = self.0;
        if wanted != result {
            // A question, or a refusal: by a limit of the master's, perhaps, which a slice doesn't have.
            return if result == before { Ok(Moved::Nowhere) } else { Err(format!("a break at {before:#x}")) };
        }
        self.0 = result;
        let [from, to] = [before, result].map(|at| at.next_multiple_of(PAGE));
        Ok(match from.cmp(&to) {
            std::cmp::Ordering::Less => Moved::Up { start: from, len: to - from },
            std::cmp::Ordering::Equal => Moved::Nowhere,
            std::cmp::Ordering::Greater => Moved::Down { start: to, len: from - to },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_pages_come_and_go() {
        let mut at = ProgramBreak::at(0x5000_0800);
        assert_eq!(at.follow(0x5000_1000, 0x5000_1000), Ok(Moved::Nowhere));
        assert_eq!(at.follow(0x5000_1001, 0x5000_1001), Ok(Moved::Up { start: 0x5000_1000, len: 0x1000 }));
        assert_eq!(at.follow(0x5000_1fff, 0x5000_1fff), Ok(Moved::Nowhere));
        assert_eq!(at.follow(0x5000_0001, 0x5000_0001), Ok(Moved::Down { start: 0x5000_1000, len: 0x1000 }));
        assert_eq!(at.follow(0x5000_0000, 0x5000_0000), Ok(Moved::Down { start: 0x5000_0000, len: 0x1000 }));
    }

    #[test]
    fn questions_and_refusals_tell_where_it_is() {
        let mut at = ProgramBreak::at(0x5000_0800);
        assert_eq!(at.follow(0, 0x5000_0800), Ok(Moved::Nowhere));
        assert_eq!(at.follow(0x9000_0000, 0x5000_0800), Ok(Moved::Nowhere));
        assert_eq!(at.follow(0, 0x5000_0900), Err("a break at 0x50000800".to_owned()));
        assert_eq!(at.follow(0x5000_2800, 0x5000_2800), Ok(Moved::Up { start: 0x5000_1000, len: 0x2000 }));
        assert_eq!(at.follow(0, 0x5000_2800), Ok(Moved::Nowhere));
    }
}
