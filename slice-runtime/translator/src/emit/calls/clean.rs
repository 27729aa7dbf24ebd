//! Clean calls: calls of the runtime from translated code, which finds out for a routine, or for the words before an instruction, what only it can: elements of a gather, the whole state. And it adds up counters that a routine may read.
//!
//! All of the app's state is put aside, as for a routine of which nothing is known (see `direct`), and all general registers are where the runtime finds them. It makes the call itself, by the
//! same descriptor as if translated code had been left for it; the way through the run loop is saved.
//!
//! ```text
//!          save registers and flags
//!          onto the runtime's stack; direction flag or alignment check set? to `leaves`
//!          jump over
//! leaves:  give back, leave for the call to the runtime, which goes on at `done`
//! over:    descriptor, pc, flags, address of `leaves`; call. Who doesn't know the descriptor yet returns to `leaves`.
//! made:    (words: the buffer's position is the new one)
//!          interrupted? give back, leave
//!          give back
//! done:
//! ```

use machine::Gpr;

use super::{InPlace, Spot};
use crate::abi::{ExitKind, Saved};
use crate::emit::emitter::{BOTH, Emitter, Field, Fields, bit};
use crate::trace::{AnalysisCall, Form};

impl Emitter<'_> {
    /// Whether the runtime may be called for words.
    pub(in crate::emit) fn calls_runtime(&self) -> bool {
        self.rules.off.leaves_clean_calls()
    }

    /// Whether the runtime may be called to make this call, and another one behind it, if that has a test and this is it.
    pub(in crate::emit) fn may_be_clean(&self, call: &AnalysisCall) -> bool {
        self.calls_runtime() && !call.asks && !call.form.changes() && call.form != Form::Runtime
    }

    /// Calls the runtime for a call, by the descriptor at this offset of the arena. `routine`: whose call it is.
    pub(in crate::emit) fn clean_call(&mut self, routine: usize, spot: Spot, described: u32) -> InPlace {
        let (exit, saved) = self.call_runtime(ExitKind::Call, routine, spot, described, self.rules.doors.clean_call);
        let made = self.offset();
        self.behind_call(exit, saved, spot);
        InPlace { begun: made, done: made }
    }

    /// Calls the runtime for the words before an instruction. Returns the offset from which on they are written.
    pub(in crate::emit) fn clean_words(&mut self, spot: Spot, described: u32) -> u32 {
        self.take_r11();
        let in_register = self.has_position();
        if in_register {
            self.out.code.store_field(Field::Buffer, Gpr::R11);
        }
        let (exit, saved) = self.call_runtime(ExitKind::Words, 0, spot, described, self.rules.doors.clean_words);
        self.out.code.load_field(Gpr::Rax, Field::CalledArg(0));
        self.out.code.store_field(if in_register { Field::Called(Gpr::R11) } else { Field::Buffer }, Gpr::Rax);
        let written = self.offset();
        self.behind_call(exit, saved, spot);
        written
    }

    fn call_runtime(
        &mut self,
        kind: ExitKind,
        routine: usize,
        spot: Spot,
        described: u32,
        door: u64,
    ) -> (usize, Saved) {
        self.take_r11();
        // They count as not loaded all the same: where this is executed only at times, they aren't behind it.
        self.load_homes(BOTH);
        let changed = isa::routine::SCRATCH & !self.registers.unloaded;
        for r in Gpr::ALL.into_iter().filter(|&r| r != Gpr::Rsp && changed & bit(r) == 0) {
            self.out.code.store_field(Field::Called(r), r);
        }
        let mut saved = self.put_aside(changed, spot);
        self.put_flags_aside(&mut saved, spot);
        let (exit, leaves) = self.onto_runtime_stack(kind, saved, spot, true, described);
        let id = (self.site.space as u64) << 32 | u64::from(described);
        let [descriptor, pc, flags, failed] = [Gpr::Rdi, Gpr::Rsi, Gpr::Rdx, Gpr::Rcx];
        self.out.code.mov_imm(descriptor, id);
        self.out.code.mov_imm(pc, spot.pc);
        self.out.code.load(flags, Gpr::Rsp, 0);
        self.out.code.lea_rip(failed, leaves.0);
        self.call_door(door, routine);
        (exit, saved)
    }
}
