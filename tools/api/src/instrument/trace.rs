//! A trace, as a tool sees it.

use std::marker::PhantomData;

use bubble::code_files::FileRegion;
use machine::AppPc;
use translator::trace::{AnalysisCall, Buffered};

use super::block::Block;
use super::draft::Draft;
use super::instruction::Instruction;
use super::repeat::Repeat;
use crate::code::CountsBlocks;
use crate::names::{Image, Routine};

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

    /// The same of a tool that says whether it reads flags.
    pub(crate) fn reading_flags(mut self, reads_flags: bool) -> Self {
        self.draft.reads_flags = reads_flags;
        self
    }

    /// The same of a tool to which this is one execution of an instruction that repeats.
    pub(crate) fn repeating(mut self, repeat: Repeat) -> Self {
        self.draft.repeat = repeat;
        self
    }

    /// The same of a tool that has so many tool registers, from the first on.
    pub(crate) fn keeping(self, first: u8, registers: u8) -> Self {
        self.draft.kept.borrow_mut().take(first, registers);
        self
    }

    /// It lies in these mappings of files.
    pub(crate) fn in_files(mut self, files: [Option<FileRegion>; 2]) -> Self {
        self.draft.lies_in(files);
        self
    }

    /// What was replaced by jumps.
    pub(crate) fn jumps(&self) -> Vec<(usize, AppPc)> {
        self.draft.jumps()
    }

    /// What was inserted, in order, and the blocks that are counted.
    pub(crate) fn into_inserted(self) -> (Vec<AnalysisCall>, Vec<Buffered>, Vec<usize>) {
        self.draft.into_inserted()
    }

    /// Address of the first instruction.
    pub fn address(&self) -> AppPc {
        self.draft.instructions()[0].pc()
    }

    /// The image that its first instruction is of; `None` if that lies in no file: a compiler has made it at run time.
    pub fn image(&self) -> Option<Image<'_>> {
        self.draft.image(self.address())
    }

    /// The routine that its first instruction is of.
    pub fn routine(&self) -> Option<Routine<'_>> {
        self.image()?.routine_at(self.address())
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
