//! The proof that a slice has come to its end: its memory is that with which the next slice starts.

use bubble::end::EndKind;
use engine::{Control, Runner};
use machine::{AppPc, Memory};
use syscall_replay::Replayer;
use syscall_replay::effects::Range;
use translator::abi::Cpu;

use super::host::{SYSCALL_LEN, SliceHost};
use crate::slice::end::first_memory::{CheckpointProcess, FirstMemory};
use crate::slice::end::{verify, xsave_images};
use crate::slice::replay::SliceSpace;

impl SliceHost {
    /// If the call at the slice's end was recorded: does what it did, and compares memory with what the next slice
    /// started with. To be called when the engine was left.
    pub fn verify_last_call(&mut self, engine: &mut Runner) {
        let record = self.slot.last_call();
        if record.is_empty() || self.end.kind == EndKind::Signature || self.slot.successor().is_none() {
            return;
        }
        let mut registers = engine.cpu().registers;
        let mut control = engine.control();
        let (memory, files, program_break) = (self.memory, self.files, &mut self.program_break);
        let mut space = SliceSpace { memory, files, program_break, control: &mut control };
        if let Err(divergence) = Replayer::new(record).syscall(&mut registers, &mut space) {
            self.diverged(&divergence);
        }
        if let Some(verify::Difference { address, expected }) = self.memory_difference(registers.rsp()) {
            let got = self.memory.read_u64(address).unwrap_or(0);
            let lies = if xsave_images::stored().cover(address) {
                ". The app had the processor store registers there (xsave, fnstenv), of which what isn't in use may be left out"
            } else {
                ""
            };
            self.fail(&format_args!(
                "after its last call at {:#x} it has {got:#x} at {address:#x}, where the app's own run has {expected:#x}{lies}",
                registers.rip.wrapping_sub(SYSCALL_LEN)
            ));
        }
    }

    /// Compares memory with the next slice's first state.
    fn memory_difference(&mut self, rsp: u64) -> Option<verify::Difference> {
        let mut next = self.next_first_memory();
        let apart = verify::Apart {
            rsp,
            left_out: self.left_out(),
            images: xsave_images::stored(),
            pushed: self.pushed_by_call(rsp),
        };
        self.memory_checks += 1;
        match verify::compare(&mut next, &apart) {
            Ok(difference) => {
                self.is_verified |= difference.is_none();
                difference
            }
            Err(error) => self.fail(&format_args!("cannot compare its end with the next slice's start: {error}")),
        }
    }

    /// First addresses, and the first behind, of what isn't compared: a signal's frame, and what the kernel writes for calls in which other threads are.
    fn left_out(&self) -> Vec<[u64; 2]> {
        whole_words(self.others.written_by_calls()).chain([self.end.frame]).collect()
    }

    /// The memory with which the next slice starts: while the app runs, that of the process that keeps it.
    fn next_first_memory(&self) -> impl FirstMemory + use<> {
        let Some(checkpoint) = self.slot.successor().and_then(|next| self.slot.checkpoint_of(next)) else {
            self.fail(
                &"its end can't be verified: the process that was to keep the next slice's first state was killed, or \
                  could not be started (ulimit -u)",
            );
        };
        CheckpointProcess::new(checkpoint).unwrap_or_else(|error| {
            self.fail(&format_args!("cannot compare its end with the next slice's start: {error}"))
        })
    }

    /// What an indirect call before which the slice ends stores: where the processor then finds an address that nothing can have, it takes back all
    /// but that.
    fn pushed_by_call(&self, rsp: u64) -> Option<verify::Difference> {
        let pc = self.end.registers.rip;
        let mut code = [0; isa::MAX_LEN];
        let len = self.memory.read_prefix(pc, &mut code);
        let instruction = isa::Instruction::decode(&code[..len], AppPc(pc)).ok()?;
        (instruction.kind() == isa::Kind::CallIndirect)
            .then(|| verify::Difference { address: rsp.wrapping_sub(8), expected: instruction.next_pc().0 })
    }

    /// In what the state differs from the end.
    pub(super) fn compared_with_end(&self, cpu: &Cpu) -> String {
        match self.refused {
            Some(verify::Difference { address, expected }) => {
                let got = self.memory.read_u64(address).unwrap_or(0);
                format!("{got:#x} is at {address:#x}, where the app's own run has {expected:#x}")
            }
            None => sigmatch::explain(self.sought(), &cpu.registers, &cpu.xstate, &self.memory),
        }
    }

    /// The signature matches: whether the memory does too.
    pub(super) fn verified(&mut self, cpu: &Cpu, control: &mut dyn Control) -> bool {
        let Some(difference) = self.memory_difference(cpu.registers.rsp()) else { return true };
        control.require_word(difference.address, difference.expected);
        self.refused = Some(difference);
        false
    }
}

/// First addresses, and the first behind.
pub(super) fn whole_words(ranges: Vec<Range>) -> impl Iterator<Item = [u64; 2]> {
    ranges.into_iter().map(|range| [range.address & !7, (range.address + range.len).next_multiple_of(8)])
}
