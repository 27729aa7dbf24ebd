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
        self.insert_record(kind, values.into_args(), false);
    }

    /// Like [`Self::record`], but the record is there only if the instruction takes effect: not for a conditional move whose condition doesn't hold and a REP instruction with rcx 0.
    ///
    /// Cost: at these instructions one word more.
    ///
    /// # Panics
    /// As [`Self::record`].
    #[track_caller]
    pub fn record_predicated<A: Arguments>(&self, kind: u8, values: A) {
        self.insert_record(kind, values.into_args(), true);
    }

    #[track_caller]
    fn insert_record(&self, kind: u8, values: Vec<Arg>, predicated: bool) {
        let decoded = self.decoded();
        let counts_32 = decoded.repetition().is_some_and(|how| how.counts_32);
        let (condition, word) = match (predicated, decoded.is_rep()) {
            (true, true) => (if counts_32 { Condition::Half } else { Condition::Word }, Some(Gpr::Rcx.into())),
            (true, false) if decoded.cmov_condition().is_some() => (Condition::Word, Some(Arg::Executing)),
            _ => (Condition::None, None),
        };
        let header = Arg::Const(header(kind, values.len(), condition));
        self.insert_words([header].into_iter().chain(word).chain(values).collect());
    }
}
