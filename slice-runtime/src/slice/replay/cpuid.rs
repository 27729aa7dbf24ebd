//! `cpuid` in a slice: the answers that the master got.

use machine::cpuid::{Answer, Table};
use machine::{Gpr, Registers};

/// Answers `cpuid` as the processor did on which the master asked.
#[derive(Clone, Copy)]
pub struct Cpuid {
    table: &'static Table,
}

impl Cpuid {
    /// As this table has it, see [`bubble::shared::RunHeader::cpuid`].
    pub fn by(table: &'static Table) -> Self {
        Self { table }
    }

    /// Whether the answers are in the log instead.
    pub fn is_recorded(&self) -> bool {
        !self.table.is_taken()
    }

    /// Answers as the instruction does. False if the answer isn't known.
    #[must_use]
    pub fn answer(&self, registers: &mut Registers) -> bool {
        let [leaf, subleaf] = [Gpr::Rax, Gpr::Rcx].map(|question| registers.get(question) as u32);
        let Some(answer) = self.table.answer(leaf, subleaf) else { return false };
        put(registers, answer);
        true
    }
}

fn put(registers: &mut Registers, answer: Answer) {
    for (register, word) in [Gpr::Rax, Gpr::Rbx, Gpr::Rcx, Gpr::Rdx].into_iter().zip(answer) {
        registers.set(register, word.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_the_tables_own() {
        let table: &'static Table = Box::leak(Table::take());
        let cpuid = Cpuid::by(table);
        assert!(!cpuid.is_recorded() && Cpuid::by(Box::leak(Table::none())).is_recorded());
        let mut registers = Registers::default();
        // Upper halves are neither read nor kept.
        registers.set(Gpr::Rax, 1 << 32);
        registers.set(Gpr::Rcx, 5 << 32);
        assert!(cpuid.answer(&mut registers));
        let answer = [Gpr::Rax, Gpr::Rbx, Gpr::Rcx, Gpr::Rdx].map(|r| registers.get(r) as u32);
        assert_eq!(Some(answer), table.answer(0, 0));
        assert!(registers.get(Gpr::Rcx) >> 32 == 0 && registers.get(Gpr::Rbx) != 0);
    }
}
