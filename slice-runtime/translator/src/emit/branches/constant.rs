//! Indirect branches through words that can't be written, see `coherence` in the engine: nothing is looked up, and in a process's own code nothing loaded.

use isa::{Instruction, Kind};
use machine::{AppPc, Gpr};

use crate::abi::{ExitKind, PcSource, ThreadState, exit_id, in_home_slots};
use crate::emit::emitter::{Emitter, ThroughPointer};
use crate::trace::Point;

/// The word at a fixed address that an indirect branch goes through, if it does.
pub fn constant_pointer(instruction: &Instruction) -> Option<u64> {
    let is_indirect = matches!(instruction.kind(), Kind::JumpIndirect | Kind::CallIndirect);
    instruction.rip_target().filter(|_| is_indirect && instruction.segment().is_none())
}

impl Emitter<'_> {
    /// Emits the trace's last instruction as a branch through a constant pointer. False if it must be emitted as any other, perhaps behind what was. Calls of
    /// a tool's routines on its way would look for its target where other indirect branches leave it, so then it is one of those.
    pub(in crate::emit) fn branch_through_pointer(&mut self, index: usize) -> bool {
        match self.shape.through_pointer.filter(|_| !self.has_calls(Point::Taken(index))) {
            Some(ThroughPointer::To(target)) => self.branch_to(index, target),
            Some(ThroughPointer::ByLinkWord(word)) => self.jump_by_link_word(index, word),
            None => return false,
        }
        matches!(self.shape.through_pointer, Some(ThroughPointer::To(_)))
    }

    fn branch_to(&mut self, index: usize, target: AppPc) {
        if self.facts.trace.instructions[index].kind() == Kind::CallIndirect {
            self.call_pushes(index);
            self.mark_left(target.0);
        }
        self.exit_jump(target);
    }

    /// Jumps where the link word says. As long as that is nothing, this is an exit stub.
    fn jump_by_link_word(&mut self, index: usize, word: u32) {
        let pc = self.facts.trace.instructions[index].pc();
        self.mark_with(pc.0, PcSource::Static, in_home_slots());
        let exit = self.out.add_exit(ExitKind::ConstantPointer, pc, word);
        self.out.code.mov_imm(Gpr::R10, exit_id(self.site.space, self.site.first_exit + exit as u32) as u64);
        self.out.code.jmp_gs(ThreadState::link_word_at(word));
        self.resume_here(exit);
    }
}
