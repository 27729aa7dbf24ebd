//! What has the engine count blocks.

use machine::AppPc;

use super::address::CodeAddress;
use super::code::Code;

/// Executions of blocks, counted by the engine: a part of [`crate::Tool::Local`], or all of it.
///
/// What is counted is told by [`crate::Trace::count_blocks`] or [`crate::Block::count`], and [`Self::executed`] tells it in [`crate::Tool::finish`]. This costs one addition to memory for each
/// execution of a block: about as much as one counter for all of them.
///
/// ```no_run,standalone_crate
/// use superpin_tool::{BlockCounts, CountsBlocks};
///
/// struct Local {
///     blocks: BlockCounts,
///     calls: u64,
/// }
///
/// impl CountsBlocks for Local {
///     fn block_counts(&self) -> &BlockCounts {
///         &self.blocks
///     }
/// }
/// ```
#[derive(Debug, Default)]
pub struct BlockCounts(());

impl BlockCounts {
    /// Nothing was counted yet.
    pub const fn new() -> Self {
        Self(())
    }

    /// What was executed so far: in this slice, or, in a serial run, by this process. A block that was left in its middle, by a fault or a signal, is told as the shorter one that was executed.
    ///
    /// It takes some hundred nanoseconds for each block.
    ///
    /// # Panics
    /// Where the app doesn't run, as in the collector: ask in [`crate::Tool::finish`].
    pub fn executed(&self) -> Code {
        let mut code = Code::default();
        let program = slice_runtime::OwnSlot::current().map_or(0, |slot| slot.program());
        let mut add = |address, bytes: &[u8], executions| {
            code.add(CodeAddress { program, address }, bytes.into(), executions);
        };
        engine::block_counts::visit(|address, bytes, executions| add(AppPc(address), bytes, executions));
        code.forget_unexecuted();
        code
    }
}

/// A tool's local state that has [`BlockCounts`], so that blocks can be counted.
#[diagnostic::on_unimplemented(
    message = "blocks can't be counted: `{Self}`, the tool's `Local`, has no `BlockCounts`",
    label = "nothing that counts blocks",
    note = "make `BlockCounts` the tool's `Local`; or make it a field, and implement `CountsBlocks` to say which one"
)]
pub trait CountsBlocks {
    /// These.
    fn block_counts(&self) -> &BlockCounts;
}

impl CountsBlocks for BlockCounts {
    fn block_counts(&self) -> &BlockCounts {
        self
    }
}
