//! `cpuid` in a slice: the answers that the master got.

use std::collections::HashMap;

use machine::{Gpr, Registers};

use crate::ports::execute_cpuid;

/// Answers `cpuid` as the processor did on which the master asked.
pub struct Cpuid {
    processor: u32,
    known: HashMap<(u64, u64), Registers>,
}

impl Cpuid {
    /// As on `processor`, see [`bubble::shared::RunHeader::cpuid_processor`].
    pub fn on(processor: u32) -> Self {
        Self { processor, known: HashMap::new() }
    }

    /// Whether the answers are in the log instead.
    pub fn is_recorded(&self) -> bool {
        self.processor == u32::MAX
    }

    /// Executes `cpuid` on the processor, moving there for the time if it hasn't been asked this before.
    pub fn answer(&mut self, registers: &mut Registers) {
        let question = (registers.get(Gpr::Rax), registers.get(Gpr::Rcx));
        let processor = self.processor;
        let answer = self.known.entry(question).or_insert_with(|| {
            let mut answer = *registers;
            on_processor(processor as usize, || execute_cpuid(&mut answer));
            answer
        });
        for r in [Gpr::Rax, Gpr::Rbx, Gpr::Rcx, Gpr::Rdx] {
            registers.set(r, answer.get(r));
        }
    }
}

/// Does something on a certain processor, if this process may run there.
fn on_processor(processor: usize, what: impl FnOnce()) {
    const SIZE: usize = size_of::<libc::cpu_set_t>();
    // SAFETY: a CPU set is plain data for which zero is valid; the kernel reads and writes sets of the given size.
    unsafe {
        let mut own: libc::cpu_set_t = std::mem::zeroed();
        let known = libc::sched_getaffinity(0, SIZE, &raw mut own) == 0;
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut one);
        libc::sched_setaffinity(0, SIZE, &raw const one);
        what();
        if known {
            libc::sched_setaffinity(0, SIZE, &raw const own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_the_processors_own() {
        let mut cpuid = Cpuid::on(0);
        let mut first = Registers::default();
        cpuid.answer(&mut first);
        let mut again = Registers::default();
        cpuid.answer(&mut again);
        assert_eq!(first, again);
        assert_ne!(first.get(Gpr::Rbx), 0);
    }
}
