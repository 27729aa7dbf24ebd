//! Leaving to the runtime, with all registers in place.

use machine::AppPc;

use crate::abi::{ExitKind, ThreadState, exit_id};
use crate::emit::emitter::{BOTH, Emitter};

impl Emitter<'_> {
    /// Leaves to the runtime right here, with all registers in place.
    pub(in crate::emit) fn leave(&mut self, kind: ExitKind, pc: AppPc, argument: u32) -> usize {
        self.take_r11();
        self.load_homes(BOTH);
        let exit = self.out.add_exit(kind, pc, argument);
        let id = exit_id(self.site.space, self.site.first_exit + exit as u32);
        self.out.code.store_gs_imm32(ThreadState::EXIT_AT, id);
        // What is finished for once is left behind its end.
        self.out.code.jmp_gs(match kind {
            ExitKind::Syscall if !self.shape.once => ThreadState::SYSCALL_AT,
            ExitKind::Rdtsc | ExitKind::Rdtscp if !self.shape.once => ThreadState::READING_AT,
            _ => ThreadState::LEAVE_AT,
        });
        exit
    }

    /// Leaves for a call before the instruction at `pc`, by the descriptor at this offset of the arena.
    pub(in crate::emit) fn leave_for_call(&mut self, pc: AppPc, descriptor: u32) {
        let exit = self.leave(ExitKind::Call, pc, descriptor);
        self.resume_here(exit);
    }
}
