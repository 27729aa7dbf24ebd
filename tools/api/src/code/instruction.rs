//! An instruction that was executed.

use std::fmt;

use isa::{Class, Extension, MemoryOperand, Operand, Property};
use machine::AppPc;

use super::address::CodeAddress;
use super::branch::BranchKind;

/// An instruction of a [`crate::Code`].
#[derive(Clone, Debug)]
pub struct CodeInstruction {
    decoded: isa::Instruction,
    program: u32,
    executions: u64,
}

impl CodeInstruction {
    pub(in crate::code) fn new(decoded: isa::Instruction, program: u32, executions: u64) -> Self {
        Self { decoded, program, executions }
    }

    /// It was executed so many times more: elsewhere, by another program that has the same library there, say.
    pub fn add(&mut self, executions: u64) {
        self.executions = self.executions.wrapping_add(executions);
    }

    /// How often it was executed: in the block that it was taken from, or in all of them.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// Its address.
    pub fn address(&self) -> AppPc {
        self.decoded.pc()
    }

    /// Its address, and in which program.
    pub fn code_address(&self) -> CodeAddress {
        CodeAddress { program: self.program, address: self.address() }
    }

    /// The address after it.
    pub fn next_address(&self) -> AppPc {
        self.decoded.next_pc()
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.decoded.bytes()
    }

    /// Its mnemonic in lower case, as a manual spells it. For the whole instruction, print it.
    pub fn mnemonic(&self) -> &'static str {
        self.decoded.mnemonic()
    }

    /// Number of its mnemonic, as of [`crate::Instruction::mnemonic_number`].
    pub fn mnemonic_number(&self) -> usize {
        self.decoded.mnemonic_number()
    }

    /// The class that it belongs to, as of [`crate::Instruction::class`].
    pub fn class(&self) -> Class {
        self.decoded.class()
    }

    /// The extension that it belongs to, as of [`crate::Instruction::extension`].
    pub fn extension(&self) -> Extension {
        self.decoded.extension()
    }

    /// Whether and how it branches.
    pub fn branch(&self) -> Option<BranchKind> {
        BranchKind::of(self.decoded.kind())
    }

    /// Where a direct jump, branch or call goes.
    pub fn branch_target(&self) -> Option<AppPc> {
        self.decoded.kind().target()
    }

    /// Its operands, as of [`crate::Instruction::operands`].
    pub fn operands(&self) -> Vec<Operand> {
        self.decoded.operands()
    }

    /// The memory it accesses, as of [`crate::Instruction::memory_operands`].
    pub fn memory_operands(&self) -> Vec<MemoryOperand> {
        self.decoded.memory_operands().to_vec()
    }

    /// How many elements a memory operand has, as of [`crate::Instruction::elements`].
    ///
    /// # Panics
    /// If there is no such operand.
    pub fn elements(&self, operand: usize) -> usize {
        usize::from(self.decoded.elements(operand).count)
    }

    /// Whether it has a property, as of [`crate::Instruction::is`].
    pub fn is(&self, property: Property) -> bool {
        self.decoded.is(property)
    }

    /// Whether it is a string instruction that repeats. It counts as one instruction, however often it repeats.
    pub fn is_rep(&self) -> bool {
        self.decoded.is_rep()
    }
}

impl fmt::Display for CodeInstruction {
    /// As a disassembler prints it, in AT&T syntax.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.decoded.fmt(f)
    }
}
