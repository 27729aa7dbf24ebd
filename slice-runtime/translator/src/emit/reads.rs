//! Reading what of the app's state isn't in general registers: bases of segments, vector and mask registers.

use bubble::switches::Optimisation;
use isa::{Instruction, Segment};
use machine::{Gpr, component};

use crate::abi::ThreadState;
use crate::emit::emitter::{Emitter, Field, Fields};
use crate::trace::Arg;

impl Emitter<'_> {
    /// Whether translated code can't find an argument's value out, but the runtime can.
    pub(in crate::emit) fn is_for_runtime(&self, arg: Arg, instruction: &Instruction) -> bool {
        let is_read = match arg {
            Arg::SegmentBase(_) => true,
            Arg::Vector { .. } | Arg::Mask(_) => self.rules.off.leaves(Optimisation::VectorWords),
            _ => false,
        };
        arg.is_for_runtime(instruction) && !is_read
    }

    /// `r` = the app's base of a segment. No other register is changed, and no flag; so it is with what follows.
    pub(in crate::emit) fn read_base(&mut self, r: Gpr, segment: Segment) {
        match segment {
            Segment::Fs => self.out.code.read_fs_base(r),
            Segment::Gs => self.out.code.load_gs(r, ThreadState::APP_GS_AT),
        }
    }

    /// `r` = a word of a vector register; zero if the processor has no such word.
    pub(in crate::emit) fn read_vector(&mut self, r: Gpr, register: u8, word: u8) {
        let has = component::enabled();
        let code = &mut self.out.code;
        match (register, word) {
            (0..16, 0 | 1) => code.store_vector(ThreadState::VECTOR, register),
            _ if has & component::AVX512 == component::AVX512 => code.store_zmm(ThreadState::VECTOR, register),
            (0..16, 0..4) if has & component::AVX != 0 => code.store_ymm(ThreadState::VECTOR, register),
            _ => return code.mov_imm(r, 0),
        }
        code.load_field(r, Field::Vector(word));
    }

    /// `r` = a mask register; zero if the processor has none.
    pub(in crate::emit) fn read_mask(&mut self, r: Gpr, mask: u8) {
        if component::enabled() & component::AVX512 == component::AVX512 {
            self.out.code.mov_mask(r, mask);
        } else {
            self.out.code.mov_imm(r, 0);
        }
    }
}
