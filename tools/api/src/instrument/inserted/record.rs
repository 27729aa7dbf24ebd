//! Records in the buffer.

use machine::Gpr;

use crate::instrument::arguments::{Arg, Arguments};
use crate::instrument::instruction::Instruction;
use crate::records::{Condition, header};

impl<L: 'static> Instruction<'_, L> {
    /// Writes a record into the buffer each time before the instruction is executed: `values` as by [`Self::buffer`], under a kind of the tool's own. [`crate::Tool::drain`] reads them
    /// by [`crate::Records`], in the order of execution, whatever their kinds.
    ///
    /// So a tool has as many buffers as it has kinds, and they keep their order. All its words are to be records then.
    ///
    /// Cost: one word more than [`Self::buffer`], of the cheapest sort.
    ///
    /// # Panics
    /// As [`Self::buffer`]; if there are more than 255 values.
    #[track_caller]
    pub fn record<A: Arguments>(&self, kind: u8, values: A) {
        self.insert_record(kind, (Condition::None, None), values.into_args());
    }

    /// Like [`Self::record`], but the record is there only if the instruction takes effect: not for a conditional move whose condition doesn't hold and a REP instruction with rcx 0.
    ///
    /// Cost: at these instructions one word more.
    ///
    /// # Panics
    /// As [`Self::record`].
    #[track_caller]
    pub fn record_predicated<A: Arguments>(&self, kind: u8, values: A) {
        let decoded = self.decoded();
        let counts_32 = decoded.repetition().is_some_and(|how| how.counts_32);
        let condition = match decoded.is_rep() {
            true => (if counts_32 { Condition::Half } else { Condition::Word }, Some(Gpr::Rcx.into())),
            false if decoded.cmov_condition().is_some() => (Condition::Word, Some(Arg::Executing)),
            false => (Condition::None, None),
        };
        self.insert_record(kind, condition, values.into_args());
    }

    /// Like [`Self::record`], but the record is there only if a condition isn't 0: [`Arg::BranchTaken`], say, or a tool register in which a routine has left whether the block is of interest.
    ///
    /// ```no_run
    /// # use superpin_tool::{Arg, At, Gpr, Trace};
    /// fn is_chosen(_: &mut u64, stack_pointer: u64) -> u64 {
    ///     stack_pointer >> 4 & 1
    /// }
    /// # const LOAD: u8 = 0;
    /// # fn instrument(trace: &Trace<'_, u64>) {
    /// for block in trace.blocks() {
    ///     let chosen = block.tool_register();
    ///     block.first().call_into(At::Before, chosen, is_chosen, (Gpr::Rsp,));
    ///     for instruction in block.instructions().skip(1) {
    ///         if instruction.memory_operands().iter().any(|operand| operand.read) {
    ///             instruction.record_if(LOAD, chosen, (Arg::Pc, Arg::MemoryAddress(0)));
    ///         }
    ///     }
    /// }
    /// # }
    /// ```
    ///
    /// Cost: one word more than [`Self::record`], and where it isn't there its words are written all the same, and passed over when they are read. What is seldom there is cheaper by
    /// [`Self::call_if`].
    ///
    /// # Panics
    /// As [`Self::record`].
    #[track_caller]
    pub fn record_if<A: Arguments>(&self, kind: u8, condition: impl Into<Arg>, values: A) {
        self.insert_record(kind, (Condition::Word, Some(condition.into())), values.into_args());
    }

    #[track_caller]
    fn insert_record(&self, kind: u8, (condition, word): (Condition, Option<Arg>), values: Vec<Arg>) {
        let header = Arg::Const(header(kind, values.len(), condition));
        self.insert_words([header].into_iter().chain(word).chain(values).collect());
    }
}
