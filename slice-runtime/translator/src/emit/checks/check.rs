//! The quick check of a slice's end.

use isa::{Fixup, Kind};
use machine::Gpr;

use crate::abi::{ExitKind, Reserved, SLOT_R11, SLOT_SCRATCH};
use crate::emit::emitter::{Check, Emitter, Field, Fields, QuickCondition, bit};

/// Where rcx is while the check uses it.
const RCX_AT: Field = Field::Spill(SLOT_SCRATCH);
/// Where rax is.
const SECOND: usize = SLOT_SCRATCH + 1;

impl Emitter<'_> {
    /// Before instruction `index`: leaves if all conditions hold.
    pub(in crate::emit) fn quick_check(&mut self, check: &Check, index: usize) {
        let pc = self.facts.trace.instructions[index].pc();
        self.mark(pc.0);
        self.give_back(index);
        // All ways on from here are to find the same in r11.
        self.take_r11();
        let registers = check.conditions.iter().filter_map(|condition| condition.register());
        self.load_if_needed(registers.fold(0, |all, r| all | bit(r)), index);
        let differs = if check.may_change_flags {
            self.compare_by_flags(&check.conditions, pc.0)
        } else {
            self.compare_without_flags(&check.conditions, pc.0)
        };
        let exit = self.leave(ExitKind::End, pc, 0);
        if check.may_change_flags {
            differs.into_iter().for_each(|jump| self.out.code.bind(jump));
        } else {
            self.mark_borrowed(pc.0, &[(Gpr::Rcx, SLOT_SCRATCH)]);
            differs.into_iter().for_each(|jump| self.out.code.bind(jump));
            self.out.code.load_field(Gpr::Rcx, RCX_AT);
            self.mark(pc.0);
        }
        self.resume_before(index, exit);
    }

    /// Before instruction `index`: leaves to the runtime, which goes on here.
    pub(in crate::emit) fn stop(&mut self, index: usize) {
        let pc = self.facts.trace.instructions[index].pc();
        self.mark(pc.0);
        self.give_back(index);
        let exit = self.leave(ExitKind::End, pc, 0);
        self.resume_before(index, exit);
    }

    /// The trace goes on here after an exit, with instruction `index`. A jump has no code of its own, and its calls are made where it has been taken: a byte lies between, by which the runtime tells
    /// that the app hasn't come so far.
    fn resume_before(&mut self, index: usize, exit: usize) {
        self.resume_here(exit);
        if matches!(self.facts.trace.instructions[index].kind(), Kind::Jump { .. }) {
            self.out.code.nop(1);
        }
    }

    /// Goes on behind itself if the conditions hold, and jumps if one doesn't.
    fn compare_by_flags(&mut self, conditions: &[QuickCondition], pc: u64) -> Vec<Fixup> {
        let mut differs = Vec::new();
        for (n, &condition) in conditions.iter().enumerate() {
            let value_at = Field::EndValue(n);
            match condition {
                QuickCondition::Register(r, _) if !self.is_elsewhere(r) => self.out.code.cmp_field(r, value_at),
                _ => {
                    self.out.code.store_field(RCX_AT, Gpr::Rcx);
                    self.mark_borrowed(pc, &[(Gpr::Rcx, SLOT_SCRATCH)]);
                    self.load_for_check(condition);
                    self.out.code.cmp_field(Gpr::Rcx, value_at);
                    self.out.code.load_field(Gpr::Rcx, RCX_AT);
                    self.mark(pc);
                }
            }
            differs.push(self.out.code.jcc_near(isa::Condition::Ne));
        }
        differs
    }

    /// The same, but where one doesn't hold rcx is borrowed.
    fn compare_without_flags(&mut self, conditions: &[QuickCondition], pc: u64) -> Vec<Fixup> {
        self.out.code.store_field(RCX_AT, Gpr::Rcx);
        self.mark_borrowed(pc, &[(Gpr::Rcx, SLOT_SCRATCH)]);
        let mut differs = Vec::new();
        for &condition in conditions {
            match condition {
                QuickCondition::Register(r, value) if r != Gpr::Rcx && !self.is_elsewhere(r) => {
                    self.out.code.mov_imm(Gpr::Rcx, value.wrapping_neg());
                    self.out.code.lea_sum(Gpr::Rcx, r, Gpr::Rcx);
                }
                _ => {
                    self.load_for_check(condition);
                    self.out.code.store_field(Field::Spill(SECOND), Gpr::Rax);
                    self.mark_borrowed(pc, &[(Gpr::Rcx, SLOT_SCRATCH), (Gpr::Rax, SECOND)]);
                    self.out.code.mov_imm(Gpr::Rax, condition.value().wrapping_neg());
                    self.out.code.lea_sum(Gpr::Rcx, Gpr::Rcx, Gpr::Rax);
                    self.out.code.load_field(Gpr::Rax, Field::Spill(SECOND));
                    self.mark_borrowed(pc, &[(Gpr::Rcx, SLOT_SCRATCH)]);
                }
            }
            let same = self.out.code.jrcxz();
            differs.push(self.out.code.jmp_near());
            self.out.code.bind(same);
        }
        self.out.code.load_field(Gpr::Rcx, RCX_AT);
        self.mark(pc);
        differs
    }

    /// Loads what the condition is about into rcx, which is borrowed.
    fn load_for_check(&mut self, condition: QuickCondition) {
        match condition {
            QuickCondition::Register(Gpr::Rcx, _) => self.out.code.load_field(Gpr::Rcx, RCX_AT),
            QuickCondition::Register(r, _) if self.is_elsewhere(r) => {
                self.out.code.load_field(Gpr::Rcx, Field::Spill(SLOT_R11));
            }
            QuickCondition::Register(r, _) => self.out.code.mov(Gpr::Rcx, r),
            QuickCondition::Word(address, _) => {
                self.out.code.mov_imm(Gpr::Rcx, address);
                self.out.code.load(Gpr::Rcx, Gpr::Rcx, 0);
            }
            QuickCondition::Vector(quadword, _) => self.out.code.vector_quadword(Gpr::Rcx, quadword),
        }
    }

    /// Whether the app's value of the register is in its spill slot.
    fn is_elsewhere(&self, r: Gpr) -> bool {
        r == Gpr::R11 && self.registers.reserved != Reserved::No
    }
}
