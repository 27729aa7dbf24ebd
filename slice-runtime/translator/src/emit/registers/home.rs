//! Home slots: the app's r10 and r9 also live in memory.
//!
//! Emitted code needs a scratch register now and then. The usual way is spill, use, restore. But a load that follows a store to the same word
//! waits seven to eight cycles. If every block does that, each block waits for the one before.
//! So we turn it round. When the *app* writes r10, we store it in its home slot. Compilers seldom use r10, so that is rare. To use r10 as scratch
//! we just overwrite it, and load it from its home before something needs it again.
//!
//! ```text
//!     mov r10, rbx          the app's own
//!     mov [home.r10], r10   ours, once
//!     pop r10 ; jmp …       scratch for the return: nothing to spill
//!     …                     most traces never name r10
//!     mov r10, [home.r10]   only where one does
//! ```
//!
//! A trace that is a loop loads at its head what it needs, and branches back behind that.
//!
//! Named invariant *home*: at the end of each block, and so at the start of each trace, the home slots hold the app's r10 and r9. The registers
//! may hold anything.

use bubble::switches::Optimisation;
use isa::{Condition, Kind};
use machine::{AppPc, CachePc, Gpr};

use crate::abi::{HOMES, SLOT_SCRATCH};
use crate::emit::emitter::{Emitter, Field, Fields, bit, unloaded_at_ends};

impl Emitter<'_> {
    /// Whether a register's value is only in its home slot.
    pub(in crate::emit) fn is_unloaded(&self, r: Gpr) -> bool {
        self.registers.unloaded & bit(r) != 0
    }

    /// What is not loaded at the start of a trace and may be so at the end of a block.
    pub(in crate::emit) fn unloaded_at_ends(&self) -> u16 {
        unloaded_at_ends(self.rules.off)
    }

    /// Loads those of the registers that are not loaded, before an instruction.
    pub(in crate::emit) fn load_if_needed(&mut self, registers: u16, index: usize) {
        let wanted = self.registers.unloaded & registers;
        if wanted == 0 {
            return;
        }
        self.load_homes(registers);
        self.registers.unloaded &= !wanted;
        self.mark(self.facts.trace.instructions[index].pc().0);
    }

    /// Loads those of the registers that are not loaded. That they aren't any more is for the caller to say, if this is the way that the trace goes on.
    pub(in crate::emit) fn load_homes(&mut self, wanted: u16) {
        for (r, slot) in HOMES.into_iter().filter(|&(r, _)| self.registers.unloaded & wanted & bit(r) != 0) {
            self.out.code.load_field(r, Field::Spill(slot));
        }
    }

    /// Loads what the words before an instruction are made of. Nothing that is held is among it.
    pub(in crate::emit) fn load_for_words(&mut self, index: usize) {
        if self.registers.unloaded != 0 && !self.facts.trace.buffered.is_empty() {
            self.load_if_needed(self.needed_for_words(index), index);
        }
    }

    /// Loads what an instruction and the calls that belong to it need.
    pub(in crate::emit) fn load_needed(&mut self, index: usize) {
        if self.registers.unloaded != 0 {
            self.load_if_needed(self.needs(index), index);
        }
    }

    /// In a loop: loads at its head what is needed in it.
    pub(in crate::emit) fn load_for_loop(&mut self) {
        let head = self.facts.trace.head();
        let back = |kind| matches!(kind, Kind::Branch { target, .. } | Kind::Jump { target } if target == head);
        let Some(last) =
            self.facts.trace.instructions.iter().rposition(|i| back(i.kind())).filter(|_| self.shape.loops)
        else {
            return;
        };
        let (mut needed, mut killed) = (0, 0);
        for index in 0..=last {
            needed |= self.needs(index) & !killed;
            killed |= self.facts.usages[index].gpr_killed;
        }
        if needed & self.registers.unloaded != 0 {
            self.load_if_needed(needed, 0);
            self.registers.top = Some(self.out.code.here());
        }
    }

    /// Where a branch of the trace to `target` goes inside of it.
    pub(in crate::emit) fn inside(&self, target: AppPc) -> Option<CachePc> {
        self.registers.top.filter(|_| target == self.facts.trace.head())
    }

    /// A branch back to the trace's head, behind what was loaded there. False, with nothing emitted, if it isn't such a branch.
    pub(in crate::emit) fn branch_inside(&mut self, condition: Condition, target: AppPc) -> bool {
        let Some(top) = self.inside(target) else { return false };
        self.out.code.jcc(condition, top);
        true
    }

    /// An instruction has been executed: what it wrote is in place.
    pub(in crate::emit) fn wrote(&mut self, index: usize) {
        self.registers.unloaded &= !self.facts.usages[index].gpr_written;
    }

    /// Loads a register that was borrowed.
    pub(in crate::emit) fn give_back_register(&mut self, r: Gpr, slot: usize) {
        if !self.is_unloaded(r) {
            self.out.code.load_field(r, Field::Spill(slot));
        }
    }

    /// A register that can be borrowed before an instruction and only needs to be loaded from its home slot afterwards.
    pub(in crate::emit) fn register_with_home(&mut self, index: usize, block: usize) -> (Gpr, usize) {
        if !self.rules.off.leaves(Optimisation::HomeSlots) {
            self.out.code.store_field(Field::Spill(SLOT_SCRATCH), Gpr::Rcx);
            return (Gpr::Rcx, SLOT_SCRATCH);
        }
        if let Some(same) = self.cheapest_first().into_iter().find(|&(r, _)| !self.differs_from_home(r, index, block)) {
            return same;
        }
        let (r, slot) = HOMES[0];
        self.out.code.store_field(Field::Spill(slot), r);
        (r, slot)
    }

    /// The same where registers may be held: one that isn't, and that the instruction leaves alone.
    pub(in crate::emit) fn borrow_register(&mut self, index: usize, block: usize) -> (Gpr, usize) {
        let held = self.words.held_registers();
        if held == 0 {
            return self.register_with_home(index, block);
        }
        self.scratch_with_home(index, block).unwrap_or_else(|| {
            let r = isa::free_gpr(held | self.reserved_registers()).expect("two are held at most");
            self.out.code.store_field(Field::Spill(SLOT_SCRATCH), r);
            (r, SLOT_SCRATCH)
        })
    }

    /// A register with a home slot, equal to its home slot, that isn't used by an instruction whose memory operand is to be rewritten.
    pub(in crate::emit) fn scratch_with_home(&self, index: usize, block: usize) -> Option<(Gpr, usize)> {
        let usage = &self.facts.usages[index];
        let used = usage.gpr_read | usage.gpr_written | self.words.held_registers();
        let free = |&(r, _): &(Gpr, usize)| used & (1 << r as u16) == 0 && !self.differs_from_home(r, index, block);
        let nameable =
            self.rules.off.leaves(Optimisation::HomeSlots) && !self.facts.trace.instructions[index].uses_high_byte();
        self.cheapest_first().into_iter().filter(|_| nameable).find(free)
    }

    /// The registers with home slots, those first that needn't be loaded after they were borrowed.
    pub(in crate::emit) fn cheapest_first(&self) -> [(Gpr, usize); 2] {
        let [r10, r9] = HOMES;
        if self.is_unloaded(r10.0) && !self.is_unloaded(r9.0) { [r10, r9] } else { [r9, r10] }
    }

    /// Whether a register may hold something else than its home slot before an instruction.
    pub(in crate::emit) fn differs_from_home(&self, r: Gpr, index: usize, block: usize) -> bool {
        let range = self.facts.trace.block(block);
        let writes = |i: usize| self.facts.usages[i].gpr_written & (1 << r as u16) != 0;
        (range.start..index).any(writes) && (index..range.end).any(writes)
    }

    /// After an instruction that is the last of its block to write a register with a home slot: stores it.
    pub(in crate::emit) fn store_home_after(&mut self, index: usize, block: usize) {
        let rest = index + 1..self.facts.trace.block(block).end;
        for (r, slot) in HOMES {
            let writes = |i: usize| self.facts.usages[i].gpr_written & (1 << r as u16) != 0;
            if writes(index) && !rest.clone().any(writes) {
                let pc = self.facts.trace.instructions[index].next_pc().0;
                if rest.is_empty() {
                    self.mark_left(pc)
                } else {
                    self.mark(pc)
                };
                self.out.code.store_field(Field::Spill(slot), r);
            }
        }
    }
}
