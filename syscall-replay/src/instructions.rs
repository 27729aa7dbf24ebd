//! What instructions gave whose results the app's state doesn't determine.

use machine::{Gpr, Registers, flags};

/// An instruction whose result the app's state doesn't determine.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NondeterministicKind {
    /// `rdtsc`.
    Rdtsc = 0,
    /// `rdtscp`.
    Rdtscp = 1,
    /// `cpuid`.
    Cpuid = 2,
}

/// What a nondeterministic instruction gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NondeterministicRecord {
    /// Which instruction.
    pub kind: NondeterministicKind,
    /// Its address.
    pub pc: u64,
    /// rax after it.
    pub rax: u64,
    /// rdx after it.
    pub rdx: u64,
    /// rcx after it (meaningless for `rdtsc`).
    pub rcx: u64,
    /// rbx after it (only for `cpuid`).
    pub rbx: u64,
}

impl NondeterministicRecord {
    /// Puts the results into registers, as the instruction would.
    pub fn apply(&self, registers: &mut Registers) {
        use machine::Gpr::{Rax, Rbx, Rcx, Rdx};
        registers.set(Rax, self.rax);
        registers.set(Rdx, self.rdx);
        if self.kind != NondeterministicKind::Rdtsc {
            registers.set(Rcx, self.rcx);
        }
        if self.kind == NondeterministicKind::Cpuid {
            registers.set(Rbx, self.rbx);
        }
    }
}

/// What an instruction gave whose result is one register and flags: `rdrand`, `rdseed`, `rdpid`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomRecord {
    /// Its address.
    pub pc: u64,
    /// Its length.
    pub len: u64,
    /// The register that it writes.
    pub register: Gpr,
    /// That register after it.
    pub value: u64,
    /// The flags register after it.
    pub flags: u64,
}

impl RandomRecord {
    /// Puts the results into registers, as the instruction would.
    pub fn apply(&self, registers: &mut Registers) {
        registers.set(self.register, self.value);
        registers.rflags = registers.rflags & !flags::ARITHMETIC | self.flags & flags::ARITHMETIC;
        registers.rip = self.pc.wrapping_add(self.len);
    }
}
