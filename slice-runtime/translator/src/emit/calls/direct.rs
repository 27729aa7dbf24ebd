//! Routines that translated code calls itself. Most machine code shows that it changes a few general registers and flags only. For another all is put aside that a call may change: the general
//! registers here, the rest by the engine's gateway ([`Doors::aside`](crate::abi::Doors)), which saves the way through the runtime, that is most of what leaving costs; or only what
//! the routine changes of the rest, if its machine code tells ([`Doors::partly`](crate::abi::Doors)).
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

use bubble::routines::{way, why};
use bubble::switches::Optimisation;
use isa::Condition;
use isa::routine::Way;
use machine::{AppPc, CachePc, Gpr};

use super::{InPlace, Spot};
use crate::abi::{CallDescriptor, ExitKind, Saved, ThreadState};
use crate::emit::emitter::{Emitter, Field, Fields, bit};
use crate::routines::constant;
use crate::trace::{AnalysisCall, Arg, Form};

/// The registers of the C convention for the local state and the arguments.
const ARGUMENTS: [Gpr; 6] = [Gpr::Rdi, Gpr::Rsi, Gpr::Rdx, Gpr::Rcx, Gpr::R8, Gpr::R9];

/// Arguments that have registers.
const IN_REGISTERS: usize = ARGUMENTS.len() - 1;

/// Arguments that a list is: where it lies and how long it is.
const LIST: usize = 2;

impl Emitter<'_> {
    /// Emits a call of the routine from here.
    ///
    /// # Errors
    /// With nothing emitted: the runtime must make it, for that [reason](why).
    pub(in crate::emit) fn direct_call(
        &mut self,
        call: &AnalysisCall,
        spot: Spot,
        descriptor: &CallDescriptor,
        instructions: usize,
    ) -> Result<InPlace, u64> {
        let few = self.called_directly(call);
        let clobbered = few.or_else(|| self.called_with_all_aside(call)).ok_or(why::OFF)?;
        let partly = few.is_none() && self.called_with_little_aside(call);
        let kind = self.facts.trace.instructions[spot.index].kind();
        let known = |arg: &Arg| constant(*arg, call.point, &self.facts.trace.instructions[spot.index], instructions);
        let values: Vec<Option<u64>> = call.args.iter().map(known).collect();
        let unknown = |n: usize| call.args[n] == Arg::BranchTaken && !matches!(kind, isa::Kind::Branch { .. });
        if (0..values.len()).any(|n| values[n].is_none() && unknown(n)) {
            return Err(why::TOLD);
        }
        if call.asks || call.form.changes() || call.args.iter().any(|arg| self.asks_for_r11(*arg, spot.index)) {
            return Err(why::TOLD);
        }
        let instruction = &self.facts.trace.instructions[spot.index];
        let is_told = |arg: &Arg| self.is_for_runtime(*arg, instruction) && *arg != Arg::Flags;
        if call.form == Form::State || call.args.iter().any(is_told) {
            return Err(why::TOLD);
        }
        // Shards would have to be added up before.
        if self.rules.off.leaves(Optimisation::Shards) && !self.rules.counters.may_be_read() {
            return Err(why::COUNTERS);
        }
        // All ways out of it are to find the same in r11.
        self.take_r11();
        let skipped = if call.predicated { self.skip_without_effect(spot) } else { Vec::new() };
        let named = if call.form == Form::List { LIST } else { values.len().min(IN_REGISTERS) };
        let arguments = ARGUMENTS[..=named].iter().fold(0, |all, &r| all | bit(r));
        let changed = clobbered | arguments | bit(Gpr::Rax) | bit(Gpr::Rcx);
        let mut saved = self.put_aside(changed & !self.registers.unloaded, spot);
        self.computed_arguments(call, &values, spot, saved);
        self.put_flags_aside(&mut saved, spot);
        self.put_arguments(call, &values, saved);
        let described = self.add_descriptor(descriptor);
        let (exit, _) = self.onto_runtime_stack(ExitKind::Call, saved, spot, few.is_none(), described);
        self.put_flags(call);
        self.push_arguments(call, &values, saved);
        if few.is_none() {
            let doors = self.rules.doors;
            self.call_door(if partly { doors.partly } else { doors.aside }, call.routine);
        } else if self.out.code.reaches(call.routine as u64) {
            self.out.code.call(CachePc(call.routine as u64));
        } else {
            self.out.code.mov_imm(Gpr::Rax, call.routine as u64);
            self.out.code.call_reg(Gpr::Rax);
        }
        let made = self.offset();
        self.behind_call(exit, saved, spot);
        for skip in skipped {
            self.out.code.bind(skip);
        }
        let way = if partly { way::PARTLY } else { way::ASIDE };
        self.rules.known.note(call, if few.is_some() { way::CALLED } else { way }, 0);
        Ok(InPlace { begun: made, done: made })
    }

    /// The registers that a call's routine changes, if it can be called from here.
    pub(in crate::emit) fn called_directly(&self, call: &AnalysisCall) -> Option<u16> {
        let way = self.rules.off.leaves(Optimisation::Call).then(|| self.rules.known.way_of(call.routine))?;
        let Way::Itself(touched) = way else { return None };
        touched.is_general().then_some(touched.general)
    }

    /// Whether not all but general registers must be put aside for it.
    fn called_with_little_aside(&self, call: &AnalysisCall) -> bool {
        self.rules.off.leaves(Optimisation::Partly) && self.rules.known.way_of(call.routine) != Way::Aside
    }

    /// The registers that any routine may change, if this one may be called from here all the same.
    fn called_with_all_aside(&self, call: &AnalysisCall) -> Option<u16> {
        let off = self.rules.off;
        let may_be = off.leaves(Optimisation::Call) && off.leaves(Optimisation::Aside) && call.form != Form::Runtime;
        may_be.then_some(isa::routine::SCRATCH)
    }

    /// Jumps that are taken if a predicated instruction takes no effect, to be bound behind its call.
    pub(super) fn skip_without_effect(&mut self, spot: Spot) -> Vec<isa::Fixup> {
        let instruction = &self.facts.trace.instructions[spot.index];
        if instruction.is_rep() {
            let counts_32 = instruction.repetition().is_some_and(|how| how.counts_32);
            let none = if counts_32 { self.out.code.jecxz() } else { self.out.code.jrcxz() };
            let some = self.out.code.jmp_short();
            self.out.code.bind(none);
            let skip = self.out.code.jmp_near();
            self.out.code.bind(some);
            return vec![skip];
        }
        let condition = instruction.cmov_condition();
        condition.map(|condition| self.out.code.jcc_near(condition.inverted())).into_iter().collect()
    }

    /// Computes arguments that other registers of the app's are needed for, while they are in place. Changes rax and rcx.
    fn computed_arguments(&mut self, call: &AnalysisCall, values: &[Option<u64>], spot: Spot, saved: Saved) {
        let instruction = &self.facts.trace.instructions[spot.index];
        let mut intact = true;
        for (n, arg) in call.args.iter().enumerate().filter(|&(n, _)| values[n].is_none()) {
            if !is_computed(*arg) {
                continue;
            }
            if !std::mem::replace(&mut intact, false) {
                for r in registers(saved.registers & (bit(Gpr::Rax) | bit(Gpr::Rcx))) {
                    self.out.code.load_field(r, Field::Called(r));
                }
            }
            match (*arg, instruction.kind()) {
                (Arg::MemoryAddress(operand), _) => {
                    let operand = instruction.memory_operands()[operand];
                    self.out.code.lea_memory(Gpr::Rax, &operand);
                    if let Some(segment) = operand.segment {
                        self.read_base(Gpr::Rcx, segment);
                        self.out.code.lea_sum(Gpr::Rax, Gpr::Rax, Gpr::Rcx);
                    }
                }
                (Arg::SegmentBase(segment), _) => self.read_base(Gpr::Rax, segment),
                (Arg::Vector { register, word }, _) => self.read_vector(Gpr::Rax, register, word),
                (Arg::Mask(mask), _) => self.read_mask(Gpr::Rax, mask),
                (Arg::TakesEffect, _) => {
                    let condition = instruction.cmov_condition().expect("nothing else is known so late here");
                    self.out.code.set_condition(condition, Gpr::Rax);
                }
                (_, isa::Kind::Branch { condition, .. }) => self.out.code.set_condition(condition, Gpr::Rax),
                _ => unreachable!("other arguments aren't computed"),
            }
            self.out.code.store_field(Field::CalledArg(n), Gpr::Rax);
        }
    }

    /// Takes the app's flags from the runtime's stack, where they were pushed, for the arguments that are these. Changes rax.
    fn put_flags(&mut self, call: &AnalysisCall) {
        for n in (0..call.args.len()).filter(|&n| call.args[n] == Arg::Flags) {
            self.out.code.load(Gpr::Rax, Gpr::Rsp, 0);
            self.out.code.store_field(Field::CalledArg(n), Gpr::Rax);
            if call.form == Form::Words && n < IN_REGISTERS {
                self.out.code.mov(ARGUMENTS[n + 1], Gpr::Rax);
            }
        }
    }

    /// Loads the registers of the arguments.
    fn put_arguments(&mut self, call: &AnalysisCall, values: &[Option<u64>], saved: Saved) {
        if call.form == Form::List {
            return self.put_list(call, values, saved);
        }
        self.out.code.own_address(ARGUMENTS[0], call.local);
        for n in 0..call.args.len().min(IN_REGISTERS) {
            self.put_argument(ARGUMENTS[n + 1], call.args[n], n, values[n], saved);
        }
    }

    /// Puts the arguments side by side, where those that were computed are already.
    fn put_list(&mut self, call: &AnalysisCall, values: &[Option<u64>], saved: Saved) {
        for (n, arg) in call.args.iter().enumerate() {
            // Flags come later.
            let is_there = values[n].is_none() && (is_computed(*arg) || *arg == Arg::Flags);
            if !is_there {
                self.put_argument(Gpr::Rax, *arg, n, values[n], saved);
                self.out.code.store_field(Field::CalledArg(n), Gpr::Rax);
            }
        }
        self.out.code.own_address(ARGUMENTS[0], call.local);
        self.out.code.own_address(ARGUMENTS[1], ThreadState::called_arg_address(0));
        self.out.code.mov_imm(ARGUMENTS[2], call.args.len() as u64);
    }

    /// Puts those that have no registers on the stack, which is the runtime's and has one word on it: its pointer is a multiple of 16 at the call. Changes rax.
    fn push_arguments(&mut self, call: &AnalysisCall, values: &[Option<u64>], saved: Saved) {
        if call.form == Form::List || call.args.len() <= IN_REGISTERS {
            return;
        }
        if !(call.args.len() - IN_REGISTERS).is_multiple_of(2) {
            self.out.code.push(Gpr::Rax);
        }
        for n in (IN_REGISTERS..call.args.len()).rev() {
            self.put_argument(Gpr::Rax, call.args[n], n, values[n], saved);
            self.out.code.push(Gpr::Rax);
        }
    }

    /// `r` = argument `n`.
    fn put_argument(&mut self, r: Gpr, arg: Arg, n: usize, value: Option<u64>, saved: Saved) {
        match (value, arg) {
            (_, Arg::KeptAt(n)) => self.out.code.own_address(r, ThreadState::kept_address(n.into())),
            (Some(value), _) => self.out.code.mov_imm(r, value),
            (None, Arg::Register(app)) if saved.registers & bit(app) == 0 => self.out.code.mov(r, app),
            (None, Arg::Register(app)) => self.out.code.load_field(r, Field::Called(app)),
            (None, Arg::Kept(n)) => self.out.code.load_field(r, Field::Kept(n)),
            (None, Arg::Thread) => self.out.code.load_field(r, Field::Thread),
            (None, Arg::BranchTarget) => self.out.code.load_field(r, Field::Target),
            (None, _) => self.out.code.load_field(r, Field::CalledArg(n)),
        }
    }

    /// Saves registers and the app's stack pointer.
    pub(super) fn put_aside(&mut self, changed: u16, spot: Spot) -> Saved {
        for r in registers(changed | bit(Gpr::Rsp)) {
            self.out.code.store_field(Field::Called(r), r);
        }
        let saved = Saved { registers: changed | bit(Gpr::Rsp), flags: false };
        self.mark_with(spot.pc, spot.source, saved.packed());
        saved
    }

    /// Saves the flags, as far as they are read, by way of rax.
    pub(super) fn put_flags_aside(&mut self, saved: &mut Saved, spot: Spot) {
        if spot.live_flags != 0 {
            self.out.code.lahf();
            self.out.code.seto_al();
            self.out.code.store_field(Field::CalledFlags, Gpr::Rax);
            saved.flags = true;
            self.mark_with(spot.pc, spot.source, saved.packed());
        }
    }

    /// Goes onto the runtime's stack, with the flags on it; or leaves, if they aren't as a function expects them. Returns the exit, whose `site` is still to be told, and where it leaves.
    /// `is_aligned`: the function may depend on accesses that aren't aligned, which are faults with the flag AC.
    pub(super) fn onto_runtime_stack(
        &mut self,
        kind: ExitKind,
        saved: Saved,
        spot: Spot,
        is_aligned: bool,
        described: u32,
    ) -> (usize, CachePc) {
        self.out.code.load_field(Gpr::Rsp, Field::RuntimeRsp);
        self.out.code.pushfq();
        self.out.code.test_stack_byte(1, 4);
        let misaligned = is_aligned.then(|| {
            let leaves = self.out.code.jcc_near(Condition::Ne);
            self.out.code.test_stack_byte(2, 4);
            leaves
        });
        let forward = self.out.code.jcc_near(Condition::E);
        if let Some(leaves) = misaligned {
            self.out.code.bind(leaves);
        }
        let leaves = self.out.code.here();
        self.give_back_saved(saved, spot);
        let exit = self.leave(kind, AppPc(spot.pc), described);
        self.out.code.bind(forward);
        self.mark_with(spot.pc, spot.source, saved.packed());
        (exit, leaves)
    }

    /// Calls a function of the engine's gateway, for this routine.
    pub(super) fn call_door(&mut self, door: u64, routine: usize) {
        self.out.code.mov_imm(Gpr::Rax, routine as u64);
        if self.out.code.reaches(door) {
            self.out.code.call(CachePc(door));
        } else {
            self.out.code.mov_imm(Gpr::R11, door);
            self.out.code.call_reg(Gpr::R11);
        }
    }

    /// The call has been made: answers an interruption that came meanwhile, and gives back what is aside. What `exit` leaves for is done behind it.
    pub(super) fn behind_call(&mut self, exit: usize, saved: Saved, spot: Spot) {
        self.out.code.cmp_field_imm(Field::Interrupted, 0);
        let go_on = self.out.code.jcc_near(Condition::E);
        self.give_back_saved(saved, spot);
        let interrupted = self.leave(ExitKind::Interrupted, AppPc(spot.pc), 0);
        self.out.code.bind(go_on);
        self.mark_with(spot.pc, spot.source, saved.packed());
        self.give_back_saved(saved, spot);
        self.resume_here(exit);
        self.resume_here(interrupted);
    }

    fn give_back_saved(&mut self, saved: Saved, spot: Spot) {
        if saved.flags {
            self.out.code.load_field(Gpr::Rax, Field::CalledFlags);
            self.out.code.restore_of_from_al();
            self.out.code.sahf();
        }
        for r in registers(saved.registers) {
            self.out.code.load_field(r, Field::Called(r));
        }
        self.mark_spot(spot, &[], false);
    }
}

/// Whether an argument is computed before others are put into their registers.
fn is_computed(arg: Arg) -> bool {
    let is_read = matches!(arg, Arg::SegmentBase(_) | Arg::Vector { .. } | Arg::Mask(_));
    is_read || matches!(arg, Arg::MemoryAddress(_) | Arg::BranchTaken | Arg::TakesEffect)
}

fn registers(bits: u16) -> impl Iterator<Item = Gpr> {
    Gpr::ALL.into_iter().filter(move |&r| bits & bit(r) != 0)
}
