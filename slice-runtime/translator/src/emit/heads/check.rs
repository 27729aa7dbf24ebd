//! The quick check of a slice's end.

use isa::Fixup;
use machine::Gpr;

use crate::abi::{ExitKind, Reserved, SLOT_R11, SLOT_SCRATCH, ThreadState};
use crate::emit::emitter::{Check, Condition, Emitter, bit};

/// Where rcx is while the check uses it.
const RCX_AT: u64 = ThreadState::spill_address(SLOT_SCRATCH);
/// Where rax is.
const SECOND: usize = SLOT_SCRATCH + 1;

impl Emitter<'_> {
    /// Before the first instruction: leaves if all conditions hold.
    pub(in crate::emit) fn quick_check(&mut self, check: &Check) {
        let pc = self.trace.head();
        self.mark(pc.0);
        let registers = check.conditions.iter().filter_map(|condition| condition.register());
        self.bring(registers.fold(0, |all, r| all | bit(r)), 0);
        let differs = if check.may_change_flags {
            self.compare_by_flags(&check.conditions)
        } else {
            self.compare_without_flags(&check.conditions)
        };
        let exit = self.leave(ExitKind::End, pc, 0);
        if check.may_change_flags {
            differs.into_iter().for_each(|jump| self.code.bind(jump));
        } else {
            self.mark_borrowed(pc.0, &[(Gpr::Rcx, SLOT_SCRATCH)]);
            differs.into_iter().for_each(|jump| self.code.bind(jump));
            self.code.load_mem(Gpr::Rcx, RCX_AT);
        }
        self.exits[exit].site = self.site.offset + self.offset();
    }

    /// Goes on behind itself if the conditions hold, and jumps if one doesn't.
    fn compare_by_flags(&mut self, conditions: &[Condition]) -> Vec<Fixup> {
        let pc = self.trace.head().0;
        let mut differs = Vec::new();
        for (n, &condition) in conditions.iter().enumerate() {
            let value_at = ThreadState::end_value_address(n);
            match condition {
                Condition::Register(r, _) if !self.is_elsewhere(r) => self.code.cmp_mem(r, value_at),
                _ => {
                    self.code.store_mem(RCX_AT, Gpr::Rcx);
                    self.mark_borrowed(pc, &[(Gpr::Rcx, SLOT_SCRATCH)]);
                    self.load_for_check(condition);
                    self.code.cmp_mem(Gpr::Rcx, value_at);
                    self.code.load_mem(Gpr::Rcx, RCX_AT);
                    self.mark(pc);
                }
            }
            differs.push(self.code.jcc_near(isa::Condition::Ne));
        }
        differs
    }

    /// The same, but where one doesn't hold rcx is borrowed.
    fn compare_without_flags(&mut self, conditions: &[Condition]) -> Vec<Fixup> {
        let pc = self.trace.head().0;
        self.code.store_mem(RCX_AT, Gpr::Rcx);
        self.mark_borrowed(pc, &[(Gpr::Rcx, SLOT_SCRATCH)]);
        let mut differs = Vec::new();
        for &condition in conditions {
            match condition {
                Condition::Register(r, value) if r != Gpr::Rcx && !self.is_elsewhere(r) => {
                    self.code.mov_imm(Gpr::Rcx, value.wrapping_neg());
                    self.code.lea_sum(Gpr::Rcx, r, Gpr::Rcx);
                }
                _ => {
                    self.load_for_check(condition);
                    self.code.store_mem(ThreadState::spill_address(SECOND), Gpr::Rax);
                    self.mark_borrowed(pc, &[(Gpr::Rcx, SLOT_SCRATCH), (Gpr::Rax, SECOND)]);
                    self.code.mov_imm(Gpr::Rax, condition.value().wrapping_neg());
                    self.code.lea_sum(Gpr::Rcx, Gpr::Rcx, Gpr::Rax);
                    self.code.load_mem(Gpr::Rax, ThreadState::spill_address(SECOND));
                    self.mark_borrowed(pc, &[(Gpr::Rcx, SLOT_SCRATCH)]);
                }
            }
            let same = self.code.jrcxz();
            differs.push(self.code.jmp_near());
            self.code.bind(same);
        }
        self.code.load_mem(Gpr::Rcx, RCX_AT);
        self.mark(pc);
        differs
    }

    /// Loads what the condition is about into rcx, which is borrowed.
    fn load_for_check(&mut self, condition: Condition) {
        match condition {
            Condition::Register(Gpr::Rcx, _) => self.code.load_mem(Gpr::Rcx, RCX_AT),
            Condition::Register(r, _) if self.is_elsewhere(r) => {
                self.code.load_mem(Gpr::Rcx, ThreadState::spill_address(SLOT_R11));
            }
            Condition::Register(r, _) => self.code.mov(Gpr::Rcx, r),
            Condition::Word(address, _) => {
                self.code.mov_imm(Gpr::Rcx, address);
                self.code.load(Gpr::Rcx, Gpr::Rcx, 0);
            }
            Condition::Vector(quadword, _) => self.code.vector_quadword(Gpr::Rcx, quadword),
        }
    }

    /// Whether the app's value of the register is in its spill slot.
    fn is_elsewhere(&self, r: Gpr) -> bool {
        r == Gpr::R11 && self.reserved != Reserved::No
    }
}
