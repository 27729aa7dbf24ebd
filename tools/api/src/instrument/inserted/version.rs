//! Versions of a block's calls, one of which is chosen each time that the block is entered.

use super::keep::ValueRoutine;
use crate::instrument::arguments::{Arguments, Routine};
use crate::instrument::at::At;
use crate::instrument::block::Block;
use crate::instrument::instruction::Instruction;
use crate::instrument::tool_register::ToolRegister;

/// Which version of a block's calls is executed: see [`Block::versions`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Versions {
    chosen: ToolRegister,
}

/// Whether it is the version that was chosen.
fn is_chosen<L>(_: &mut L, chosen: u64, number: u64) -> bool {
    chosen == number
}

impl<L: 'static> Block<'_, L> {
    /// Has the block's calls in versions (Pin's `INS_InsertVersionCase`, DynamoRIO's `drbbdup`): each time that the block is entered `choose` says the number of one, and the calls
    /// that [`Instruction::call_in`] inserts are made in that only. To be asked before these are inserted.
    ///
    /// The choice is made anew at each entry, by what `Local` knows and by the app's state, so it is as exact in slices as `Local` is: what that can't know at a slice's begin, no choice can
    /// depend on.
    ///
    /// ```no_run
    /// # use superpin_tool::{Arg, At, Gpr, Trace};
    /// # struct Local { detailed: bool, calls: u64 }
    /// # fn load(local: &mut Local, _address: u64) { local.calls += 1; }
    /// fn version(local: &mut Local) -> u64 {
    ///     u64::from(local.detailed)
    /// }
    ///
    /// # fn instrument(trace: &Trace<'_, Local>) {
    /// for block in trace.blocks() {
    ///     let versions = block.versions(version, ());
    ///     for instruction in block.instructions() {
    ///         if instruction.memory_operands().first().is_some_and(|operand| operand.read) {
    ///             instruction.call_in(versions, 1, load, (Arg::MemoryAddress(0),));
    ///         }
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// Cost: that of `choose`, which is put in place if it is short, once for each execution of the block; then a comparison for each call.
    ///
    /// # Panics
    /// As [`Instruction::call_into`]; if the block has no more tool registers.
    #[track_caller]
    pub fn versions<A: Arguments, R: ValueRoutine<L, A>>(&self, choose: R, args: A) -> Versions {
        let chosen = self.tool_register();
        self.first().call_into(At::Before, chosen, choose, args);
        Versions { chosen }
    }
}

impl<L: 'static> Instruction<'_, L> {
    /// Inserts a call before the instruction that is made only if its block's version with this number was chosen.
    ///
    /// # Panics
    /// If the versions are another block's. If there is no such argument, see [`crate::Arg`]; if one is [`crate::Arg::BlockInstructions`].
    #[track_caller]
    pub fn call_in<A: Arguments, R: Routine<L, A>>(&self, versions: Versions, number: u64, routine: R, args: A) {
        self.call_if(At::Before, is_chosen::<L>, (versions.chosen, number), routine, args);
    }
}
