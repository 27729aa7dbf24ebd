//! Routines that translated code calls itself: those whose machine code shows that they change a few general registers and flags only.
//!
//! ```text
//!          jump to `done` if the call is predicated and the instruction takes no effect
//!          save registers and flags
//!          arguments
//!          onto the runtime's stack, which nobody uses meanwhile; the app's stays as it is, its red zone too
//!          direction flag set? give back, leave for the call to the runtime, which goes on at `done`
//!          call
//! made:    interrupted? give back, leave
//!          give back
//! done:
//! ```
//!
//! All that time the state map says that the saved registers are in [`ThreadState::called`]. A signal that arrives while the
//! routine runs is only noted, as in the runtime, and answered at `made`.

use bubble::switches::Optimisation;
use isa::{Condition, Segment};
use machine::{AppPc, Gpr};

use super::{InPlace, Spot};
use crate::abi::{Descriptor, ExitKind, Saved, ThreadState};
use crate::emit::emitter::{Emitter, bit};
use crate::routines::constant;
use crate::trace::{Arg, Call};

/// The registers of the C convention for the local state and the arguments.
const ARGUMENTS: [Gpr; 6] = [Gpr::Rdi, Gpr::Rsi, Gpr::Rdx, Gpr::Rcx, Gpr::R8, Gpr::R9];

impl Emitter<'_> {
    /// Emits a call of the routine from here. `None`, with nothing emitted: the runtime must make it.
    pub(in crate::emit) fn direct_call(
        &mut self,
        call: &Call,
        spot: Spot,
        descriptor: Descriptor,
        instructions: usize,
    ) -> Option<InPlace> {
        let clobbered = self.called_directly(call)?;
        let kind = self.trace.instructions[spot.index].kind();
        let known = |arg: &Arg| constant(*arg, call.point, &self.trace.instructions[spot.index], instructions);
        let values: Vec<Option<u64>> = call.args.iter().map(known).collect();
        let unknown = |n: usize| call.args[n] == Arg::BranchTaken && !matches!(kind, isa::Kind::Branch { .. });
        if (0..values.len()).any(|n| values[n].is_none() && unknown(n)) {
            return None;
        }
        if call.args.iter().any(|arg| self.asks_for_r11(*arg, spot.index)) {
            return None;
        }
        // Cells would have to be added up before.
        if self.off.leaves(Optimisation::Cells) && !self.counters.may_be_read() {
            return None;
        }
        // All ways out of it are to find the same in r11.
        self.take_r11();
        let skipped = if call.predicated { self.skip_without_effect(spot) } else { Vec::new() };
        let arguments = ARGUMENTS[..=values.len()].iter().fold(0, |all, &r| all | bit(r));
        let mut saved = Saved { registers: clobbered | arguments | bit(Gpr::Rax) | bit(Gpr::Rcx), flags: false };
        saved.registers &= !self.absent;
        for r in registers(saved.registers) {
            self.code.store_mem(ThreadState::called_address(r), r);
        }
        self.code.store_mem(ThreadState::called_address(Gpr::Rsp), Gpr::Rsp);
        saved.registers |= bit(Gpr::Rsp);
        self.mark_with(spot.pc, spot.place, saved.packed());
        self.computed_arguments(call, &values, spot, saved);
        if spot.live_flags != 0 {
            self.code.lahf();
            self.code.seto_al();
            self.code.store_mem(ThreadState::CALLED_FLAGS, Gpr::Rax);
            saved.flags = true;
            self.mark_with(spot.pc, spot.place, saved.packed());
        }
        self.put_arguments(call, &values, saved);
        self.code.load_mem(Gpr::Rsp, ThreadState::RUNTIME_RSP);
        self.code.pushfq();
        self.code.test_stack_byte(1, 4);
        let forward = self.code.jcc_near(Condition::E);
        self.give_back_saved(saved, spot);
        let argument = self.add_descriptor(descriptor);
        let mut exits = vec![self.leave(ExitKind::Call, AppPc(spot.pc), argument)];
        self.code.bind(forward);
        self.mark_with(spot.pc, spot.place, saved.packed());
        if self.code.reaches(call.routine as u64) {
            self.code.call(machine::CachePc(call.routine as u64));
        } else {
            self.code.mov_imm(Gpr::Rax, call.routine as u64);
            self.code.call_reg(Gpr::Rax);
        }
        let made = self.offset();
        self.code.cmp_mem_imm(ThreadState::INTERRUPTED, 0);
        let go_on = self.code.jcc_near(Condition::E);
        self.give_back_saved(saved, spot);
        exits.push(self.leave(ExitKind::Interrupted, AppPc(spot.pc), 0));
        self.code.bind(go_on);
        self.mark_with(spot.pc, spot.place, saved.packed());
        self.give_back_saved(saved, spot);
        for exit in exits {
            self.exits[exit].site = self.site.offset + self.offset();
        }
        for skip in skipped {
            self.code.bind(skip);
        }
        Some(InPlace { begun: made, done: made })
    }

    /// The registers that a call's routine changes, if it can be called from here.
    pub(in crate::emit) fn called_directly(&self, call: &Call) -> Option<u16> {
        self.off.leaves(Optimisation::Call).then(|| self.known.changed_by(call.routine)).flatten()
    }

    /// Jumps that are taken if a predicated instruction takes no effect, to be bound behind its call.
    fn skip_without_effect(&mut self, spot: Spot) -> Vec<isa::Fixup> {
        let instruction = &self.trace.instructions[spot.index];
        if instruction.is_rep() {
            let none = self.code.jrcxz();
            let some = self.code.jmp_short();
            self.code.bind(none);
            let skip = self.code.jmp_near();
            self.code.bind(some);
            return vec![skip];
        }
        let condition = instruction.cmov_condition();
        condition.map(|condition| self.code.jcc_near(condition.inverted())).into_iter().collect()
    }

    /// Computes arguments that other registers of the app's are needed for, while they are in place. Changes rax and rcx.
    fn computed_arguments(&mut self, call: &Call, values: &[Option<u64>], spot: Spot, saved: Saved) {
        let instruction = &self.trace.instructions[spot.index];
        let mut intact = true;
        for (n, arg) in call.args.iter().enumerate().filter(|&(n, _)| values[n].is_none()) {
            if !matches!(arg, Arg::MemoryAddress(_) | Arg::BranchTaken) {
                continue;
            }
            if !std::mem::replace(&mut intact, false) {
                for r in registers(saved.registers & (bit(Gpr::Rax) | bit(Gpr::Rcx))) {
                    self.code.load_mem(r, ThreadState::called_address(r));
                }
            }
            match (*arg, instruction.kind()) {
                (Arg::MemoryAddress(operand), _) => {
                    let operand = instruction.memory_operands()[operand];
                    self.code.lea_memory(Gpr::Rax, &operand);
                    if let Some(segment) = operand.segment {
                        match segment {
                            Segment::Fs => self.code.read_fs_base(Gpr::Rcx),
                            Segment::Gs => self.code.load_gs(Gpr::Rcx, ThreadState::APP_GS_AT),
                        }
                        self.code.lea_sum(Gpr::Rax, Gpr::Rax, Gpr::Rcx);
                    }
                }
                (_, isa::Kind::Branch { condition, .. }) => self.code.set_condition(condition, Gpr::Rax),
                _ => unreachable!("other arguments aren't computed"),
            }
            self.code.store_mem(ThreadState::called_arg_address(n), Gpr::Rax);
        }
    }

    /// Loads the registers of the arguments.
    fn put_arguments(&mut self, call: &Call, values: &[Option<u64>], saved: Saved) {
        self.code.mov_imm(ARGUMENTS[0], call.local);
        for (n, arg) in call.args.iter().enumerate() {
            let r = ARGUMENTS[n + 1];
            match (values[n], *arg) {
                (Some(value), _) => self.code.mov_imm(r, value),
                (None, Arg::Register(app)) if saved.registers & bit(app) == 0 => self.code.mov(r, app),
                (None, Arg::Register(app)) => self.code.load_mem(r, ThreadState::called_address(app)),
                (None, Arg::BranchTarget) => self.code.load_mem(r, ThreadState::TARGET),
                (None, _) => self.code.load_mem(r, ThreadState::called_arg_address(n)),
            }
        }
    }

    fn give_back_saved(&mut self, saved: Saved, spot: Spot) {
        if saved.flags {
            self.code.load_mem(Gpr::Rax, ThreadState::CALLED_FLAGS);
            self.code.restore_of_from_al();
            self.code.sahf();
        }
        for r in registers(saved.registers) {
            self.code.load_mem(r, ThreadState::called_address(r));
        }
        self.mark_spot(spot, &[], false);
    }
}

fn registers(bits: u16) -> impl Iterator<Item = Gpr> {
    Gpr::ALL.into_iter().filter(move |&r| bits & bit(r) != 0)
}
