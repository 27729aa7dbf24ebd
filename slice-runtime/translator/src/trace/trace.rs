//! What instrumentation sees and says: a trace of decoded instructions and the analysis calls to insert.
//!
//! This is the engine's untyped side; `superpin-tool` puts the typed interface for tool authors over it.

use bubble::code_files::FileRegion;
use isa::Instruction;
use machine::AppPc;

use super::call::{AnalysisCall, Buffered};

/// A block of a trace whose executions are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Its number.
    pub block: usize,
    /// Which of the run's tools want to know: a bit for each.
    pub tools: u32,
}

/// A trace before translation: a contiguous run of app code, one entry, one exit at each block's end.
#[derive(Default)]
pub struct Trace {
    /// The instructions, in order.
    pub instructions: Vec<Instruction>,
    /// Index after the last instruction of each block, ascending; the last is `instructions.len()`.
    pub block_ends: Vec<usize>,
    /// Which mappings of files it lies in: that of its first instruction, and that of its last if it is another. Empty where it lies in memory that is no file's.
    pub files: [Option<FileRegion>; 2],
    /// Inserted calls, in the order of insertion.
    pub calls: Vec<AnalysisCall>,
    /// Values to be written into the buffer, by ascending index.
    pub buffered: Vec<Buffered>,
    /// Instructions that are jumps instead: their indices, and where to. See [`jump_instead`](super::jump_instead).
    pub jumps: Vec<(usize, AppPc)>,
    /// Blocks whose executions are counted, see [`CountedBlock`](crate::abi::CountedBlock): in their order.
    pub counted: Vec<Counted>,
    /// Code of its first block that was executed before the trace is entered, of a trace that is the rest of a block that is counted.
    pub executed: Vec<u8>,
}

impl Trace {
    /// App pc of the first instruction.
    pub fn head(&self) -> AppPc {
        self.instructions[0].pc()
    }

    /// Indices of a block's instructions.
    pub fn block(&self, index: usize) -> std::ops::Range<usize> {
        let first = if index == 0 { 0 } else { self.block_ends[index - 1] };
        first..self.block_ends[index]
    }
}
