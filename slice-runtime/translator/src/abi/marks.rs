//! What a trace's records tell beside its state map: calls for whole blocks, words in the buffer, calls before instructions.

/// A block-level analysis call whose count must be compensated if the block doesn't run to its end.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCall {
    /// First app pc of the block.
    pub first: u64,
    /// App pc after the block.
    pub end: u64,
    /// Offset from the trace's first byte after which the call has been made.
    pub done: u32,
    /// Arena offset of its descriptor.
    pub descriptor: u32,
}

/// Words that were written into the buffer for an instruction: taken back if it isn't executed after all.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferMark {
    /// App pc of the instruction.
    pub pc: u64,
    /// How many words.
    pub words: u32,
    /// Offset from the trace's first byte from which on the buffer pointer counts them.
    pub counted: u32,
}

/// An analysis call before an instruction. If the app is interrupted there, this tells whether it has been made, so that it is made once.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallMark {
    /// App pc of the instruction; 0 if it needn't be known how often the call was made, since it is compensated.
    pub pc: u64,
    /// If the call is one for a whole block, which isn't compensated: app pc of the block's first instruction. Else 0.
    pub block: u64,
    /// From this offset up to `pending` only a part of the call has been done: translated code runs on, and asks for interruptions
    /// when it is complete.
    pub begun: u32,
    /// From this offset up to `made` it is still to be made.
    pub pending: u32,
    /// Offset from which on it has been made.
    pub made: u32,
    /// Arena offset of the descriptor of what is pending; of a call before the instruction at an end, of the call.
    pub descriptor: u32,
}
