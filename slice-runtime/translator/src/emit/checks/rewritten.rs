//! Code that its own stores may change: behind each store inside a block it is asked whether the rest of the block is what it was.
//!
//! Whoever stores to a page of code that is protected meets a fault, and the runtime sees to the rest of its block. Where pages aren't protected, because
//! they change too often or can be written elsewhere, the trace asks for itself. So a block ends at the same store in both cases: one behind which the rest
//! of it is something else.

use machine::Gpr;

use super::self_check::pieces;
use crate::abi::{ExitKind, SLOT_SCRATCH};
use crate::emit::emitter::{Borrowed, Emitter, Field, Fields};

/// The base, the sum, and a piece.
const BORROWED: [Borrowed; 3] = [(Gpr::Rax, SLOT_SCRATCH), (Gpr::Rcx, SLOT_SCRATCH + 1), (Gpr::Rdx, SLOT_SCRATCH + 2)];

impl Emitter<'_> {
    /// Whether a store may have changed the instruction with this index, which doesn't start its block, just before it.
    pub(in crate::emit) fn may_be_rewritten(&self, index: usize, block: usize) -> bool {
        let trace = self.facts.trace;
        self.shape.rewritten.is_some()
            && index > trace.block(block).start
            && trace.instructions[index - 1].writes_memory()
    }

    /// Before instruction `index`: leaves if the rest of its block isn't what it was.
    pub(in crate::emit) fn look_for_rewritten(&mut self, index: usize, block: usize) {
        let Some(code) = self.shape.rewritten.filter(|_| self.may_be_rewritten(index, block)) else { return };
        let pc = self.facts.trace.instructions[index].pc();
        let first = (pc.0 - self.facts.trace.head().0) as usize;
        let end = self.facts.trace.instructions[self.facts.trace.block(block).end - 1].next_pc();
        let code = &code[first..(end.0 - self.facts.trace.head().0) as usize];
        self.mark(pc.0);
        self.give_back(index);
        self.take_r11();
        for (r, slot) in BORROWED {
            self.out.code.store_field(Field::Spill(slot), r);
        }
        self.mark_borrowed(pc.0, &BORROWED);
        self.out.code.mov_imm(Gpr::Rax, pc.0);
        self.sum_of_differences(code, Gpr::Rax, Gpr::Rcx, Gpr::Rdx);
        let same = self.out.code.jrcxz();
        self.load_borrowed();
        self.mark(pc.0);
        let exit = self.leave(ExitKind::Rewritten, pc, 0);
        self.mark_borrowed(pc.0, &BORROWED);
        self.out.code.bind(same);
        self.load_borrowed();
        self.mark(pc.0);
        self.resume_here(exit);
    }

    fn load_borrowed(&mut self) {
        for (r, slot) in BORROWED {
            self.out.code.load_field(r, Field::Spill(slot));
        }
    }

    /// `sum` = 0 if the app's code at `base` is `code`, else something else; `piece` is overwritten.
    pub(super) fn sum_of_differences(&mut self, code: &[u8], base: Gpr, sum: Gpr, piece: Gpr) {
        for (n, &(at, len)) in pieces(code.len()).iter().enumerate() {
            let into = if n == 0 { sum } else { piece };
            match len {
                4 => self.out.code.load32(into, base, at as i32),
                2 => self.out.code.load16(into, base, at as i32),
                _ => self.out.code.load8(into, base, at as i32),
            }
            let mut expected = [0; 4];
            expected[..len].copy_from_slice(&code[at..at + len]);
            self.out.code.lea32(into, into, i32::from_le_bytes(expected).wrapping_neg());
            if n > 0 {
                self.out.code.lea_sum(sum, sum, into);
            }
        }
    }
}
