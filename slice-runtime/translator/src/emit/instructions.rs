//! App instructions other than indirect branches.

use bubble::switches::Optimisation;
use isa::{Condition, Instruction, Kind, NondeterministicKind, Segment};
use machine::{AppPc, Gpr, flags};

use crate::abi::{ExitKind, SLOT_SCRATCH, ThreadState};
use crate::emit::emitter::{Emitter, Field, Fields, Untranslatable};
use crate::trace::Point;

/// Whether the app may go on at the next instruction after this one without a decision in between.
pub fn falls_through(instruction: &Instruction) -> bool {
    matches!(
        instruction.kind(),
        Kind::Plain | Kind::Branch { .. } | Kind::CountBranch { .. } | Kind::SegmentBase { .. } | Kind::Trap
    )
}

impl Emitter<'_> {
    /// Ends the trace after its last instruction if that can fall through.
    pub(in crate::emit) fn fall_through(&mut self) {
        let last = self.facts.trace.instructions.last().expect("a trace has an instruction");
        if falls_through(last) {
            self.mark_left(last.next_pc().0);
            self.give_back_at_end();
            self.mark_left(last.next_pc().0);
            self.exit_jump(last.next_pc());
        }
    }

    pub(in crate::emit) fn instruction(&mut self, index: usize, block: usize) -> Result<(), Untranslatable> {
        let instruction = &self.facts.trace.instructions[index];
        let next = instruction.next_pc();
        if self.rules.replays && instruction.unrepeatable().is_some() {
            self.leave(ExitKind::Unrepeatable, next, instruction.len() as u32);
            return Ok(());
        }
        match instruction.kind() {
            Kind::Plain if self.repeats(index).is_some() => self.one_step(index),
            Kind::Plain | Kind::Trap => self.plain(index, block)?,
            Kind::Jump { target } => {
                if self.has_calls(Point::Taken(index)) {
                    self.calls_taken(index, block, Some(target), self.offset());
                }
                match self.inside(target) {
                    Some(top) => {
                        self.out.code.jmp(top);
                    }
                    None => self.exit_jump(target),
                }
            }
            Kind::Branch { target, condition } if self.has_calls(Point::Taken(index)) => {
                let over = self.out.code.jcc_near(condition.inverted());
                self.calls_taken(index, block, Some(target), self.offset());
                self.exit_jump(target);
                self.out.code.bind(over);
                self.mark_not_taken(index);
            }
            Kind::Branch { target, condition } if self.branch_while_held(condition, target) => {}
            Kind::Branch { target, condition } if self.branch_inside(condition, target) => {}
            Kind::Branch { target, condition } => {
                self.out.align_rel32(2);
                let here = self.out.code.here();
                let site = self.out.code.jcc(condition, here);
                self.direct_exit(target, site);
            }
            Kind::CountBranch { target } => self.count_branch(index, block, target),
            Kind::Call { target } => {
                self.call_pushes(index);
                self.mark_left(target.0);
                self.calls_taken(index, block, Some(target), self.offset());
                self.exit_jump(target);
            }
            Kind::JumpIndirect | Kind::CallIndirect if self.branch_through_pointer(index) => {}
            Kind::JumpIndirect => self.indirect_jump(index, block),
            Kind::CallIndirect => self.indirect_call(index, block),
            Kind::Return { extra_pop } => self.indirect_return(index, block, extra_pop),
            Kind::Syscall => self.leave_after(ExitKind::Syscall, next),
            Kind::Nondeterministic(NondeterministicKind::Rdtsc | NondeterministicKind::Rdtscp)
                if !self.rules.replays =>
            {
                // It may fault, if the app wants that.
                self.out.code.copy(instruction);
                self.mark_left(next.0);
                self.exit_jump(next);
            }
            Kind::Nondeterministic(NondeterministicKind::Rdtsc) => self.leave_after(ExitKind::Rdtsc, next),
            Kind::Nondeterministic(NondeterministicKind::Rdtscp) => self.leave_after(ExitKind::Rdtscp, next),
            Kind::Nondeterministic(NondeterministicKind::Cpuid) => self.leave_after(ExitKind::Cpuid, next),
            Kind::SelectorLoad { .. } => self.leave_after(ExitKind::SelectorLoad, instruction.pc()),
            Kind::XBegin { abort } => self.transaction_start(abort),
            Kind::SegmentBase { write, segment, register, wide } => {
                self.segment_base(instruction, write, segment, register, wide);
            }
            Kind::Unsupported(reason) => return Err(untranslatable(instruction, reason)),
        }
        Ok(())
    }

    fn leave_after(&mut self, kind: ExitKind, next: AppPc) {
        self.leave(kind, next, 0);
    }

    fn plain(&mut self, index: usize, block: usize) -> Result<(), Untranslatable> {
        let instruction = &self.facts.trace.instructions[index];
        if instruction.stores_x87_environment() {
            // It is to find the app's own address of the last x87 instruction, not the cache's.
            let exit = self.leave(ExitKind::X87Environment, instruction.pc(), 0);
            self.resume_here(exit);
        }
        if instruction.pops_flags() {
            self.look_for_trap_flag(instruction.pc());
        }
        if instruction.reads_xcr() && self.rules.replays {
            self.xcr_read(instruction);
            return Ok(());
        }
        if instruction.segment() == Some(Segment::Gs) {
            return self.gs_relative(index, block);
        }
        let Some(target) = instruction.rip_target() else {
            self.out.code.copy(instruction);
            return Ok(());
        };
        let spare = self.rules.off.leaves(Optimisation::Operands);
        if spare && (self.out.code.copy_rip_relative(instruction) || self.out.code.copy_absolute(instruction)) {
            return Ok(());
        }
        self.far_rip_relative(index, block, target)
    }

    /// `xgetbv`: XCR0 (ecx is zero) is what it was where the app asked, as with `cpuid`. Others tell which registers are in use, which is the app's own state here, too;
    /// and one that there is none of faults.
    fn xcr_read(&mut self, instruction: &Instruction) {
        self.out.code.copy(instruction);
        let xcr0 = self.out.code.jecxz();
        let done = self.out.code.jmp_short();
        self.out.code.bind(xcr0);
        self.out.code.load_gs(Gpr::Rax, ThreadState::XCR0_AT);
        self.out.code.load_gs(Gpr::Rdx, ThreadState::XCR0_AT + 8);
        self.out.code.bind(done);
    }

    /// Leaves if flags that are about to be popped have the trap flag, which the cache must not run with. Those that looking changes are
    /// replaced at once; if there is no stack, looking faults as popping would, at the same address.
    fn look_for_trap_flag(&mut self, pc: AppPc) {
        self.take_r11();
        self.out.code.test_stack_word(flags::TF as u16);
        let over = self.out.code.jcc_near(Condition::E);
        self.leave(ExitKind::PopFlags, pc, 0);
        self.out.code.bind(over);
    }

    /// A RIP-relative operand that the cache can't reach: its address goes through a register, the one that the instruction
    /// overwrites anyway if there is such a one. Not if the operand may fault, since then the old value is still seen.
    fn far_rip_relative(&mut self, index: usize, block: usize, target: u64) -> Result<(), Untranslatable> {
        let instruction = &self.facts.trace.instructions[index];
        let usage = &self.facts.usages[index];
        let killed = Gpr::ALL.into_iter().find(|&r| {
            let bit = 1 << r as u16;
            r != Gpr::Rsp && usage.gpr_killed & bit != 0 && usage.gpr_read & bit == 0
        });
        let lea = instruction.mnemonic() == "lea";
        let spare = self.rules.off.leaves(Optimisation::Operands);
        if let Some(r) =
            killed.filter(|_| spare && !instruction.uses_high_byte() && (lea || self.rules.known.is_readable(target)))
        {
            self.out.code.mov_imm(r, target);
            let wide_lea = lea && instruction.bytes()[0] & 0xf8 == 0x48;
            if wide_lea || self.out.code.copy_with_base(instruction, r) {
                return Ok(());
            }
            return Err(untranslatable(instruction, "its RIP-relative operand can't be rewritten"));
        }
        self.with_scratch(index, block, |this, r, _| {
            this.out.code.mov_imm(r, target);
            this.out.code.copy_with_base(instruction, r)
        })
    }

    /// The app's GS base is virtual, since GS belongs to the runtime.
    fn gs_relative(&mut self, index: usize, block: usize) -> Result<(), Untranslatable> {
        let instruction = &self.facts.trace.instructions[index];
        let Some(sum) = instruction.scratch_for_operand(0) else {
            return Err(untranslatable(instruction, "it leaves no register for its GS-relative operand"));
        };
        self.with_scratch(index, block, |this, r, slot| {
            this.out.code.lea_operand(r, instruction);
            let base = Gpr::ALL.into_iter().find(|&o| o != r && o != sum && o != Gpr::Rsp).expect("sixteen registers");
            this.out.code.store_field(Field::Spill(SLOT_SCRATCH + 1), base);
            this.mark_borrowed(instruction.pc().0, &[(r, slot), (base, SLOT_SCRATCH + 1)]);
            this.out.code.load_gs(base, ThreadState::APP_GS_AT);
            this.out.code.lea_sum(r, r, base);
            this.out.code.load_field(base, Field::Spill(SLOT_SCRATCH + 1));
            this.mark_borrowed(instruction.pc().0, &[(r, slot)]);
            this.out.code.copy_with_base(instruction, r)
        })
    }

    /// Runs `body` with a borrowed register that the instruction's memory operand can be rewritten to, and its slot.
    fn with_scratch(
        &mut self,
        index: usize,
        block: usize,
        body: impl FnOnce(&mut Self, Gpr, usize) -> bool,
    ) -> Result<(), Untranslatable> {
        let instruction = &self.facts.trace.instructions[index];
        let Some(r) = instruction.scratch_for_operand(self.words.held_registers() | self.reserved_registers()) else {
            return Err(untranslatable(instruction, "it leaves no register for its memory operand"));
        };
        let (r, slot) = self.scratch_with_home(index, block).unwrap_or_else(|| {
            self.out.code.store_field(Field::Spill(SLOT_SCRATCH), r);
            (r, SLOT_SCRATCH)
        });
        self.mark_borrowed(instruction.pc().0, &[(r, slot)]);
        if !body(self, r, slot) {
            return Err(untranslatable(instruction, "its memory operand can't be rewritten"));
        }
        self.wrote(index);
        self.mark_borrowed(instruction.next_pc().0, &[(r, slot)]);
        self.give_back_register(r, slot);
        Ok(())
    }

    /// From here on a branch hasn't been taken.
    fn mark_not_taken(&mut self, index: usize) {
        let next = self.facts.trace.instructions[index].next_pc().0;
        if index + 1 == self.facts.trace.instructions.len() { self.mark_left(next) } else { self.mark(next) }
    }

    fn count_branch(&mut self, index: usize, block: usize, target: AppPc) {
        let instruction = &self.facts.trace.instructions[index];
        let taken = self.out.code.count_branch(instruction);
        // From here on the count is lower.
        self.mark_left(instruction.next_pc().0);
        let from = self.offset();
        let over = self.out.code.jmp_near();
        self.marks.not_taken = Some(from..self.offset());
        self.out.code.bind(taken);
        self.mark_left(target.0);
        self.calls_taken(index, block, Some(target), self.offset());
        self.exit_jump(target);
        self.out.code.bind(over);
        self.mark_not_taken(index);
    }

    /// A transaction aborts at once, with no reason given: allowed at any time, and repeatable. Where there are none the instruction isn't known. That can't be
    /// asked for: there are processors that don't admit to have transactions and abort them all. So one is begun.
    fn transaction_start(&mut self, abort: AppPc) {
        self.out.code.empty_transaction();
        self.out.code.mov_imm(Gpr::Rax, 0);
        self.mark_left(abort.0);
        self.exit_jump(abort);
    }

    /// FS is the app's own while translated code runs; GS isn't.
    fn segment_base(&mut self, instruction: &Instruction, write: bool, segment: Segment, r: Gpr, wide: bool) {
        match (segment, write, wide) {
            (Segment::Fs, _, _) => self.out.code.copy(instruction),
            (Segment::Gs, false, _) => {
                self.out.code.load_gs(r, ThreadState::APP_GS_AT);
                if !wide {
                    self.out.code.movzx32(r, r);
                }
            }
            (Segment::Gs, true, true) => self.out.code.store_gs(ThreadState::APP_GS_AT, r),
            (Segment::Gs, true, false) => {
                let s = if r == Gpr::Rax { Gpr::Rdx } else { Gpr::Rax };
                self.out.code.store_field(Field::Spill(SLOT_SCRATCH), s);
                self.mark_borrowed(instruction.pc().0, &[(s, SLOT_SCRATCH)]);
                self.out.code.movzx32(s, r);
                self.out.code.store_gs(ThreadState::APP_GS_AT, s);
                self.out.code.load_field(s, Field::Spill(SLOT_SCRATCH));
            }
        }
    }
}

fn untranslatable(instruction: &Instruction, reason: &'static str) -> Untranslatable {
    Untranslatable { pc: instruction.pc(), instruction: instruction.to_string(), reason }
}

#[cfg(test)]
mod tests {
    use bubble::map::CACHE_OWN;
    use bubble::switches::Off;
    use machine::{AppPc, CachePc, flags};

    use crate::abi::{Counters, Doors, MapEntry, PcSource, SpaceId, from_bytes};
    use crate::emit::{Lookup, Rules, ScratchBuffers, Shape, Site, translate};
    use crate::routines::RoutineFacts;
    use crate::trace::{Border, Limits, select};

    #[test]
    fn a_count_branch_that_is_not_taken_is_over_before_its_way_round() {
        let limits =
            Limits { blocks: 2, instructions: 2, single: false, stop_after_write: false, each_repetition: false };
        // loop +0; nop; syscall
        let code = [0xe2, 0, 0x90, 0x0f, 5];
        let trace = select(AppPc(0x1000), &code, limits, |_| Border::None, Vec::new()).unwrap().trace;
        let (pc, stubs_end) = (CachePc(CACHE_OWN.start), CachePc(CACHE_OWN.start + 4096));
        let site = Site { space: SpaceId::Own, offset: 0, pc, stubs_end, first_exit: 0, arena: 0, first_counter: 0 };
        let (counters, known) = (Counters::default(), RoutineFacts::default());
        let live_at = &mut |_| flags::ARITHMETIC;
        let off = Off::default();
        let doors = Doors {
            leave_by_stub: pc.0,
            stub_miss: pc.0,
            aside: pc.0,
            partly: pc.0,
            clean_call: pc.0,
            clean_words: pc.0,
        };
        let rules = Rules {
            off,
            exact_faults: false,
            replays: false,
            each_repetition: false,
            counters: &counters,
            doors,
            known: &known,
        };
        let shape = Shape::new(Lookup::IblStubs);
        let made = translate(&trace, site, rules, shape, live_at, &mut ScratchBuffers::default()).unwrap();
        assert_eq!(made.code[..2], [0xe2, 5], "a jump of five bytes follows");
        let len = made.map_len as usize * size_of::<MapEntry>();
        // SAFETY: the state map is made of such entries.
        let map = unsafe { from_bytes::<MapEntry>(&made.arena[made.map as usize..][..len]) };
        let at_jump = map.iter().rfind(|entry| entry.offset <= 2).unwrap();
        assert_eq!((at_jump.source(), at_jump.pc), (PcSource::Left, 0x1002));
    }
}
