//! A block that was executed.

use isa::Reader;
use machine::AppPc;

use super::address::CodeAddress;
use super::instruction::CodeInstruction;

/// A block of a [`crate::Code`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeBlock<'a> {
    at: CodeAddress,
    code: &'a [u8],
    executions: u64,
}

#[allow(clippy::len_without_is_empty)] // no block is empty
impl<'a> CodeBlock<'a> {
    pub(in crate::code) fn new(at: CodeAddress, code: &'a [u8], executions: u64) -> Self {
        Self { at, code, executions }
    }

    /// Where it is, and in which program.
    pub fn code_address(&self) -> CodeAddress {
        self.at
    }

    /// Address of its first instruction.
    pub fn address(&self) -> AppPc {
        self.at.address
    }

    /// The address after its last instruction.
    pub fn end_address(&self) -> AppPc {
        AppPc(self.at.address.0.wrapping_add(self.code.len() as u64))
    }

    /// The bytes of its instructions.
    pub fn bytes(&self) -> &'a [u8] {
        self.code
    }

    /// How often it was executed.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// How many instructions it has.
    pub fn len(&self) -> usize {
        self.instructions().count()
    }

    /// Its instructions, in order, each with the block's executions.
    pub fn instructions(&self) -> impl Iterator<Item = CodeInstruction> + use<'a> {
        let (executions, program) = (self.executions, self.at.program);
        let mut reader = Reader::new(self.code, self.address());
        // It was decoded when it was translated.
        std::iter::from_fn(move || reader.read().ok())
            .map(move |decoded| CodeInstruction::new(decoded, program, executions))
    }
}
