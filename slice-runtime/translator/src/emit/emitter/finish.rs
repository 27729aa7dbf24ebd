//! The end of a translation: exit stubs, literals, and how it is handed over.

use bubble::switches::Optimisation;
use isa::Code;
use machine::{CachePc, Gpr};

use super::emitter::Emitter;
use super::{BOTH, Translation, emptied};
use crate::abi::{ThreadState, as_bytes, exit_id};

/// Bytes of a stub whose jump is direct, and of one whose jump isn't.
const NEAR_STUB: usize = 11;
const FAR_STUB: usize = 14;

impl Emitter<'_> {
    /// Exit stubs: most of them are never executed, or once. In the state map they follow the code.
    pub(in crate::emit) fn stubs(&mut self) {
        let leave = self.rules.doors.leave_by_stub;
        let apart = self.rules.off.leaves(Optimisation::Stubs);
        let is_near = Code::new(if apart { self.site.stubs_end } else { self.out.code.here() }).reaches(leave);
        let each = if is_near { NEAR_STUB } else { FAR_STUB };
        let start = self.site.stubs_end.0 - (self.out.pending.len() * each) as u64;
        if apart {
            self.out.stubs.base = CachePc(start);
        }
        self.registers.unloaded = BOTH;
        let pending = std::mem::take(&mut self.out.pending);
        for &(exit, at) in &pending {
            let here = if apart { self.out.stubs.here() } else { self.out.code.here() };
            let rel = here.0.wrapping_sub(self.site.pc.0 + at as u64 + 4) as u32;
            self.out.code.bytes[at..at + 4].copy_from_slice(&rel.to_le_bytes());
            self.mark_left(self.out.exits[exit].pc.0);
            let id = exit_id(self.site.space, self.site.first_exit + exit as u32);
            let stubs = if apart { &mut self.out.stubs } else { &mut self.out.code };
            stubs.mov_imm(Gpr::R10, id as u64);
            if is_near {
                stubs.jmp(CachePc(leave));
            } else {
                stubs.jmp_gs(ThreadState::LEAVE_BY_STUB_AT);
            }
        }
        debug_assert!(self.out.stubs.here() == self.site.stubs_end);
        self.out.pending = pending;
    }

    pub(in crate::emit) fn literals(&mut self) {
        if self.out.returns.is_empty() {
            return;
        }
        let misaligned = (self.out.code.here().0 % 8) as usize;
        if misaligned != 0 {
            self.out.code.nop(8 - misaligned);
        }
        for (at, address) in std::mem::take(&mut self.out.returns) {
            let rel = (self.out.code.bytes.len() - (at + 4)) as u32;
            self.out.code.bytes[at..at + 4].copy_from_slice(&rel.to_le_bytes());
            self.out.code.quad(address);
        }
    }

    pub(in crate::emit) fn finish(self) -> Translation {
        let descriptors = size_of_val(self.out.descriptors.as_slice());
        let (marks, call_marks) = (as_bytes(&self.marks.words), as_bytes(&self.marks.call_marks));
        let mut arena = emptied(&mut self.spare.arena);
        for part in [
            as_bytes(&self.out.descriptors),
            as_bytes(&self.marks.map),
            as_bytes(&self.marks.block_calls),
            marks,
            call_marks,
        ] {
            arena.extend_from_slice(part);
        }
        let mut counted = self.marks.counted;
        if !counted.is_empty() {
            arena.extend_from_slice(&self.facts.trace.executed);
            let code = self.site.arena + arena.len() as u32;
            counted.iter_mut().for_each(|block| block.code += code);
            self.facts.trace.instructions.iter().for_each(|instruction| arena.extend_from_slice(instruction.bytes()));
        }
        let map_len = self.marks.map.len() as u32;
        (self.spare.usages, self.spare.live_flags) = (self.facts.usages, self.facts.live_flags);
        (self.spare.map, self.spare.pending, self.spare.descriptors) =
            (self.marks.map, self.out.pending, self.out.descriptors);
        Translation {
            code: self.out.code.bytes,
            stubs: self.out.stubs.bytes,
            exits: self.out.exits,
            arena,
            map: self.site.arena + descriptors as u32,
            map_len,
            block_calls: self.marks.block_calls.len() as u32,
            buffer_marks: self.marks.words.len() as u32,
            call_marks: self.marks.call_marks.len() as u32,
            counted,
            self_checks: self.out.self_checks,
        }
    }
}
