//! Code that others may change: its traces compare it at their heads with what they were made from.
//!
//! Some memory changes without a write that could be noticed. It is mapped twice, as by a compiler that writes through one mapping and executes the
//! other, or another process has it mapped. The runtime can compare such code whenever it enters a trace of it. But then it has to enter each trace: some
//! 280 ns for a block. A trace that compares for itself is linked like any other.
//!
//! ```text
//!     mov  [slot], rcx
//!     rcx = code[0..4] - expected        each piece of four bytes: 0 if it is the same
//!     r9  = code[4..8] - expected        r9 and r10 are free: their values are in their home slots
//!     rcx = rcx + r9                     in 64 bits: the sum is 0 only if all pieces are
//!     jrcxz same ; leave to the runtime
//! ```
//!
//! Flags are kept, even where the trace doesn't read them: the code that lies there now may read them. Where r10 and r9 aren't free (`no-late`) the runtime compares.

use bubble::switches::Optimisation;
use machine::Gpr;

use crate::abi::{ExitKind, SLOT_SCRATCH};
use crate::emit::emitter::{BOTH, Emitter, Field, Fields};

/// Where rcx is meanwhile.
const RCX_AT: Field = Field::Spill(SLOT_SCRATCH);

impl Emitter<'_> {
    /// Before the first instruction: leaves if the app's code isn't `code` any more.
    pub(in crate::emit) fn emit_self_check(&mut self, code: &[u8]) {
        if !self.rules.off.leaves(Optimisation::SelfCheck) || self.registers.unloaded != BOTH {
            return;
        }
        self.out.self_checks = true;
        let pc = self.facts.trace.head();
        let rcx = [(Gpr::Rcx, SLOT_SCRATCH)];
        self.mark(pc.0);
        self.out.code.store_field(RCX_AT, Gpr::Rcx);
        self.mark_borrowed(pc.0, &rcx);
        self.out.code.mov_imm(Gpr::R10, pc.0);
        self.sum_of_differences(code, Gpr::R10, Gpr::Rcx, Gpr::R9);
        let same = self.out.code.jrcxz();
        self.out.code.load_field(Gpr::Rcx, RCX_AT);
        self.mark(pc.0);
        self.leave(ExitKind::Changed, pc, 0);
        self.mark_borrowed(pc.0, &rcx);
        self.out.code.bind(same);
        self.out.code.load_field(Gpr::Rcx, RCX_AT);
        self.mark(pc.0);
    }
}

/// Pieces of four, two or one bytes, offset and length, that cover so many bytes and no others. The last two may overlap.
pub(super) fn pieces(len: usize) -> Vec<(usize, usize)> {
    let size = [4, 2, 1].into_iter().find(|&size| size <= len).unwrap_or(1);
    let whole = (0..len / size).map(|n| (n * size, size));
    let rest = (!len.is_multiple_of(size)).then(|| (len - size, size));
    whole.chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_code_and_nothing_else() {
        assert_eq!(pieces(1), [(0, 1)]);
        assert_eq!(pieces(2), [(0, 2)]);
        assert_eq!(pieces(3), [(0, 2), (1, 2)]);
        assert_eq!(pieces(9), [(0, 4), (4, 4), (5, 4)]);
        for len in 1..300 {
            let covered: Vec<bool> =
                (0..len).map(|at| pieces(len).iter().any(|&(p, n)| (p..p + n).contains(&at))).collect();
            assert!(covered.iter().all(|&is| is) && pieces(len).iter().all(|(p, n)| p + n <= len), "{len}");
        }
    }
}
