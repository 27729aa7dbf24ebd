//! The rest of a block that the app was stopped in although that doesn't concern it.
//!
//! A tool counts a block when it is entered. So a block goes on where it was stopped, and isn't entered a second time in its middle:
//!
//! ```text
//!     a   b   c   d          a block: add(4); a signal of superpin's own stops it before c
//!             c   d          the rest, in a trace that is used once: add(2), after add(-2) when it was stopped
//! ```
//!
//! It is stopped by a full buffer, by a store to code that was translated, by interruptions that the host answers by going on, at once or when other threads have had their turn. A store may change the
//! rest of its block: then another block begins behind it.

use machine::AppPc;
use translator::trace::block_around;

/// A block that the app is in.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Where it begins.
    pub(super) start: AppPc,
    /// As it was when the block was entered.
    code: Vec<u8>,
}

impl Block {
    /// The block with the instruction at `pc`, in a run of blocks that begins at `start` and whose code is readable in `bytes`.
    pub(super) fn around(start: AppPc, bytes: &[u8], pc: AppPc, each_repetition: bool) -> Option<Block> {
        let range = block_around(start, bytes, pc, each_repetition)?;
        let code = bytes[(range.start - start.0) as usize..(range.end - start.0) as usize].to_vec();
        Some(Block { start: AppPc(range.start), code })
    }

    /// Where it begins, and its code.
    pub(super) fn code(&self) -> (AppPc, &[u8]) {
        (self.start, &self.code)
    }

    /// Its code from `pc` on.
    fn code_from(&self, pc: AppPc) -> Option<&[u8]> {
        self.code.get(pc.0.checked_sub(self.start.0)? as usize..).filter(|code| !code.is_empty())
    }
}

/// Where in a block the app goes on.
#[derive(Clone, Debug)]
pub(super) struct Rest {
    pub(super) block: Block,
    pub(super) at: AppPc,
}

impl Rest {
    /// Whether the app, which is at `pc`, goes on in it. `code`: what there is from `pc` on.
    pub(super) fn goes_on(&self, pc: AppPc, code: &[u8]) -> bool {
        self.at == pc && self.block.code_from(pc).is_some_and(|rest| code.starts_with(rest))
    }
}

/// Where in a block a thread was stopped that isn't executed, if it was.
#[derive(Default)]
pub struct StoppedIn(pub(super) Option<Rest>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rest_goes_on_until_its_code_changes() {
        // nop, nop; je; nop, ret
        let block = Block::around(AppPc(0x1000), &[0x90, 0x90, 0x74, 0, 0x90, 0xc3], AppPc(0x1005), false).unwrap();
        assert_eq!((block.start, &block.code[..]), (AppPc(0x1004), &[0x90, 0xc3][..]));
        let rest = Rest { block, at: AppPc(0x1005) };
        assert!(rest.goes_on(AppPc(0x1005), &[0xc3, 0x90]));
        assert!(!rest.goes_on(AppPc(0x1005), &[0x90, 0x90]) && !rest.goes_on(AppPc(0x1005), &[]));
        assert!(!rest.goes_on(AppPc(0x1004), &[0x90, 0xc3]));
        let behind = Rest { at: AppPc(0x1006), ..rest };
        assert!(!behind.goes_on(AppPc(0x1006), &[0x90]));
    }
}
