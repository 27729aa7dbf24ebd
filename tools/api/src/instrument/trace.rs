//! A trace, as a tool sees it.

use std::marker::PhantomData;

use machine::AppPc;
use translator::trace::{AnalysisCall, Buffered};

use super::block::Block;
use super::draft::Draft;
use super::instruction::Instruction;
use crate::code::CountsBlocks;

/// A trace that is about to be translated, for a tool whose local state is `L`.
pub struct Trace<'t, L> {
    draft: Draft<'t>,
    types: PhantomData<fn(&mut L)>,
}

impl<'t, L: 'static> Trace<'t, L> {
    /// The engine's trace as a tool sees it, whose local state lies at `local`.
    pub(crate) fn new(instructions: &'t [isa::Instruction], block_ends: &'t [usize], local: u64) -> Self {
        Self { draft: Draft::new(instructions, block_ends, local), types: PhantomData }
    }

    /// What was inserted, in order, and the blocks that are counted.
    pub(crate) fn into_inserted(self) -> (Vec<AnalysisCall>, Vec<Buffered>, Vec<usize>) {
        self.draft.into_inserted()
    }

    /// Address of the first instruction.
    pub fn address(&self) -> AppPc {
        self.draft.instructions()[0].pc()
    }

    /// Its blocks, in order.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = Block<'_, L>> + ExactSizeIterator {
        (0..self.draft.block_ends().len()).map(|index| Block::new(&self.draft, index))
    }

    /// Has the executions of all its blocks counted: see [`crate::BlockCounts`].
    pub fn count_blocks(&self)
    where
        L: CountsBlocks,
    {
        self.blocks().for_each(|block| block.count());
    }

    /// Its instructions, in order.
    pub fn instructions(&self) -> impl DoubleEndedIterator<Item = Instruction<'_, L>> + ExactSizeIterator {
        (0..self.draft.instructions().len()).map(|index| Instruction::new(&self.draft, index))
    }
}

#[cfg(test)]
mod tests;
