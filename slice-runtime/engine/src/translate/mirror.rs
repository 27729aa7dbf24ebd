//! Mirrors: r10 and r9 are also in memory, so that they can be borrowed without being stored first.
//!
//! Whoever borrows a register stores it and loads it again. If the app doesn't change that register in between, which is how it
//! is with those that nobody uses, then each borrowing waits for the one before: a load gets a value that was just stored only
//! after seven or eight cycles. So the registers that indirect branches borrow are stored when the *app* changes them, which is rare, and
//! only loaded again after they were borrowed.
//!
//! Named invariant *mirrors*: at the end of each block, and so at the start of each trace, the mirrors hold what r10 and r9 hold.

use bubble::switches::Optimisation;
use machine::Gpr;

use super::Translator;
use crate::thread::{MIRROR_R9, MIRROR_R10, SLOT_SCRATCH, ThreadState};

/// The mirrored registers with their slots.
pub const MIRRORED: [(Gpr, usize); 2] = [(Gpr::R10, MIRROR_R10), (Gpr::R9, MIRROR_R9)];

impl Translator<'_> {
    /// A register that can be borrowed before an instruction and only needs to be loaded from its mirror afterwards.
    pub(super) fn mirrored_register(&mut self, index: usize, block: usize) -> (Gpr, usize) {
        if !self.off.leaves(Optimisation::Mirror) {
            self.code.store_mem(ThreadState::spill_address(SLOT_SCRATCH), Gpr::Rcx);
            return (Gpr::Rcx, SLOT_SCRATCH);
        }
        if let Some(same) = MIRRORED.into_iter().rev().find(|&(r, _)| !self.differs_from_mirror(r, index, block)) {
            return same;
        }
        let (r, slot) = MIRRORED[0];
        self.code.store_mem(ThreadState::spill_address(slot), r);
        (r, slot)
    }

    /// The same where registers may be held: one that isn't, and that the instruction leaves alone.
    pub(super) fn borrow_register(&mut self, index: usize, block: usize) -> (Gpr, usize) {
        let held = self.buffer.held_registers();
        if held == 0 {
            return self.mirrored_register(index, block);
        }
        self.mirrored_scratch(index, block).unwrap_or_else(|| {
            let r = isa::free_gpr(held | self.reserved()).expect("two are held at most");
            self.code.store_mem(ThreadState::spill_address(SLOT_SCRATCH), r);
            (r, SLOT_SCRATCH)
        })
    }

    /// A mirrored register, equal to its mirror, that isn't used by an instruction whose memory operand is to be rewritten.
    pub(super) fn mirrored_scratch(&self, index: usize, block: usize) -> Option<(Gpr, usize)> {
        let usage = &self.usages[index];
        let used = usage.gpr_read | usage.gpr_written | self.buffer.held_registers();
        let free = |&(r, _): &(Gpr, usize)| used & (1 << r as u16) == 0 && !self.differs_from_mirror(r, index, block);
        let nameable = self.off.leaves(Optimisation::Mirror) && !self.trace.instructions[index].uses_high_byte();
        MIRRORED.into_iter().rev().filter(|_| nameable).find(free)
    }

    /// Whether a register may hold something else than its mirror before an instruction.
    pub(super) fn differs_from_mirror(&self, r: Gpr, index: usize, block: usize) -> bool {
        let range = self.trace.block(block);
        let writes = |i: usize| self.usages[i].gpr_written & (1 << r as u16) != 0;
        (range.start..index).any(writes) && (index..range.end).any(writes)
    }

    /// After an instruction that is the last of its block to write a mirrored register: stores it.
    pub(super) fn mirror_after(&mut self, index: usize, block: usize) {
        let rest = index + 1..self.trace.block(block).end;
        for (r, slot) in MIRRORED {
            let writes = |i: usize| self.usages[i].gpr_written & (1 << r as u16) != 0;
            if writes(index) && !rest.clone().any(writes) {
                let pc = self.trace.instructions[index].next_pc().0;
                if rest.is_empty() {
                    self.mark_left(pc)
                } else {
                    self.mark(pc)
                };
                self.code.store_mem(ThreadState::spill_address(slot), r);
            }
        }
    }
}
