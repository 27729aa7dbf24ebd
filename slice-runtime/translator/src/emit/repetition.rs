//! String instructions that repeat, one step at a time, for tools that want to know of each.
//!
//! Such an instruction is a block for itself, and a loop:
//!
//! ```text
//! head:    calls and words
//!          jrcxz behind
//!          save rcx                     the app's rcx is in a slot: a fault finds the step not made
//!          (those that compare) first step? keep the flags, see [`Cpu::flags_before`](crate::abi::Cpu)
//!          rcx - 1
//!          one step
//! stepped: (those that compare) has it ended? jump behind
//!          jrcxz behind
//!          jump to the head, which is linked as any other
//! behind:
//! ```
//!
//! Between `stepped` and `behind` the state map can't say where the app goes on: the registers do, see [`PcSource::Repeats`].

use isa::Repetition;
use machine::Gpr;

use crate::abi::{NOT_BORROWED, PcSource, SLOT_SCRATCH, ThreadState, again_or_behind};
use crate::emit::emitter::{Emitter, Field, Fields};
use crate::trace::Arg;

impl Emitter<'_> {
    /// How the instruction repeats, if each repetition counts.
    pub(in crate::emit) fn repeats(&self, index: usize) -> Option<Repetition> {
        // Asked of all instructions.
        if self.rules.each_repetition { self.facts.trace.instructions[index].repetition() } else { None }
    }

    /// Makes one step, and goes back to the head, or on behind the instruction.
    pub(in crate::emit) fn one_step(&mut self, index: usize) {
        let instruction = &self.facts.trace.instructions[index];
        let how = instruction.repetition().expect("it was asked");
        let args = self.facts.trace.calls.iter().flat_map(|call| &call.args);
        let words = self.facts.trace.buffered.iter().flat_map(|buffered| &buffered.words);
        let tests = self.facts.trace.calls.iter().filter_map(|call| call.test.as_ref()).flat_map(|test| &test.args);
        let asks = args.chain(words).chain(tests).any(|arg| *arg == Arg::FirstRepetition);
        let notes = asks || how.wanted.is_some();
        let (pc, next) = (instruction.pc(), instruction.next_pc());
        let is_counted = |this: &mut Self| if how.counts_32 { this.out.code.jecxz() } else { this.out.code.jrcxz() };
        let none = is_counted(self);
        self.out.code.store_field(Field::Spill(SLOT_SCRATCH), Gpr::Rcx);
        self.mark_borrowed(pc.0, &[(Gpr::Rcx, SLOT_SCRATCH)]);
        if how.wanted.is_some() {
            self.keep_flags_before(pc.0);
        }
        if how.counts_32 {
            self.out.code.lea32(Gpr::Rcx, Gpr::Rcx, -1);
        } else {
            self.out.code.lea(Gpr::Rcx, Gpr::Rcx, -1);
        }
        self.out.code.copy_step(instruction);
        self.mark_with(again_or_behind(instruction, how), PcSource::Repeats, [NOT_BORROWED; 3]);
        let ended = how.wanted.map(|wanted| self.out.code.jcc_near(wanted.inverted()));
        let last = is_counted(self);
        if notes {
            self.note_repeating(pc.0);
        }
        self.exit_jump(pc);
        for way in [Some(none), ended, Some(last)].into_iter().flatten() {
            self.out.code.bind(way);
        }
        self.mark_left(next.0);
        if notes {
            self.note_repeating(0);
        }
    }

    /// Keeps the flags as they are before the first step, with rcx in its slot. It comes back from there.
    fn keep_flags_before(&mut self, pc: u64) {
        // What is noted is this instruction or none: its lower half tells them apart without flags.
        self.out.code.load_gs(Gpr::Rcx, ThreadState::REPEATING_AT);
        self.out.code.lea32(Gpr::Rcx, Gpr::Rcx, (pc as i32).wrapping_neg());
        let further = self.out.code.jecxz();
        self.out.code.store_field(Field::Spill(SLOT_SCRATCH + 1), Gpr::Rax);
        self.mark_borrowed(pc, &[(Gpr::Rcx, SLOT_SCRATCH), (Gpr::Rax, SLOT_SCRATCH + 1)]);
        self.out.code.lahf();
        self.out.code.seto_al();
        self.out.code.store_gs(ThreadState::FLAGS_BEFORE_AT, Gpr::Rax);
        self.out.code.load_field(Gpr::Rax, Field::Spill(SLOT_SCRATCH + 1));
        self.mark_borrowed(pc, &[(Gpr::Rcx, SLOT_SCRATCH)]);
        self.out.code.bind(further);
        self.out.code.load_field(Gpr::Rcx, Field::Spill(SLOT_SCRATCH));
    }

    /// Notes which instruction the app is in the middle of. Leaves flags alone.
    fn note_repeating(&mut self, pc: u64) {
        self.out.code.store_gs_imm64(ThreadState::REPEATING_AT, pc);
    }
}
