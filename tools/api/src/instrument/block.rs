//! A block of a trace.

use std::marker::PhantomData;
use std::ops::Range;

use machine::AppPc;
use translator::trace::Point;

use super::arguments::{Arg, Arguments, Routine};
use super::at::At;
use super::draft::Draft;
use super::instruction::Instruction;
use crate::code::CountsBlocks;
use crate::names::Image;

/// A basic block.
pub struct Block<'a, L> {
    draft: &'a Draft<'a>,
    index: usize,
    range: Range<usize>,
    types: PhantomData<fn(&mut L)>,
}

#[allow(clippy::len_without_is_empty)] // no block is empty
impl<'a, L: 'static> Block<'a, L> {
    /// The block with this number.
    pub(in crate::instrument) fn new(draft: &'a Draft<'a>, index: usize) -> Self {
        let ends = draft.block_ends();
        let start = if index == 0 { 0 } else { ends[index - 1] };
        Self { draft, index, range: start..ends[index], types: PhantomData }
    }

    pub(in crate::instrument) fn draft(&self) -> &'a Draft<'a> {
        self.draft
    }

    /// Its number in the trace.
    pub(in crate::instrument) fn index(&self) -> usize {
        self.index
    }

    /// Address of its first instruction.
    pub fn address(&self) -> AppPc {
        self.draft.instructions()[self.range.start].pc()
    }

    /// The address after its last instruction.
    pub fn end_address(&self) -> AppPc {
        self.draft.instructions()[self.range.end - 1].next_pc()
    }

    /// How many instructions it has.
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// The image that it is of, see [`crate::Trace::image`].
    pub fn image(&self) -> Option<Image<'a>> {
        self.draft.image(self.address())
    }

    /// The routine that its first instruction is of.
    pub fn routine(&self) -> Option<crate::names::Routine<'a>> {
        self.image()?.routine_at(self.address())
    }

    /// Its instructions, in order.
    pub fn instructions(&self) -> impl DoubleEndedIterator<Item = Instruction<'a, L>> + ExactSizeIterator {
        let draft = self.draft;
        self.range.clone().map(move |index| Instruction::new(draft, index))
    }

    /// Its first instruction.
    pub fn first(&self) -> Instruction<'a, L> {
        Instruction::new(self.draft, self.range.start)
    }

    /// Its last instruction: the only one that may be a branch.
    pub fn last(&self) -> Instruction<'a, L> {
        Instruction::new(self.draft, self.range.end - 1)
    }

    /// Has its executions counted: see [`crate::BlockCounts`].
    pub fn count(&self)
    where
        L: CountsBlocks,
    {
        self.draft.count(self.index);
    }

    /// Inserts a call of `routine` with the local state and `args`.
    ///
    /// Calls at one place run in the order of insertion.
    ///
    /// # Panics
    /// If `args` has [`Arg::BlockInstructions`] and `at` isn't [`At::Anywhere`]: a call before the first instruction is that instruction's.
    /// If `at` is [`At::After`] or [`At::Taken`].
    #[track_caller]
    pub fn call<A: Arguments, R: Routine<L, A>>(&self, at: At, routine: R, args: A) {
        let routine = routine.named_address();
        match at {
            At::Before => {
                let args = args.into_args();
                let counts = args.contains(&Arg::BlockInstructions);
                assert!(!counts, "a block's instructions are counted by a call At::Anywhere, not At::Before");
                for arg in &args {
                    self.first().check(At::Before, *arg);
                }
                self.insert(self.first().point(at), routine, &args);
            }
            At::Anywhere => {
                let args = args.into_args();
                assert!(
                    !args.contains(&Arg::Flags),
                    "flags differ within a block: ask for them At::Before an instruction"
                );
                for arg in &args {
                    self.first().check_convention(at, *arg);
                    self.first().check(At::Before, *arg);
                }
                self.insert(Point::Anywhere(self.index), routine, &args);
            }
            At::After | At::Taken => panic!("calls At::{at:?} belong to an instruction: the block's last(), say"),
        }
    }

    fn insert(&self, point: Point, routine: usize, args: &[Arg]) {
        self.draft.insert(self.draft.call(point, routine, args));
    }
}
