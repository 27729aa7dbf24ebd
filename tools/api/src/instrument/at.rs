//! Where a call is inserted.

/// Where a call is inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// Before the instruction; for a block, before its first.
    Before,
    /// Once for each execution of the block, wherever it costs least. For an instruction: before it.
    ///
    /// A counter belongs here, and to be exact it adds up [`crate::Arg::BlockInstructions`].
    Anywhere,
    /// After an instruction, if the app goes on at the next one: see [`crate::Instruction::has_after`]. Of a conditional branch, if it isn't taken. Not
    /// after an instruction that faults; after one that repeats, once. Only for instructions.
    After,
    /// After a branch, call or return that is taken, before the first instruction there: see [`crate::Instruction::branch`]. Only for instructions.
    Taken,
}
