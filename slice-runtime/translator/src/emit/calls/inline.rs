//! Analysis routines that are put into the trace instead of being called.
//!
//! The routine's own machine code is written in place, with constant arguments folded in and its registers chosen here. Scratch
//! registers are spilled around it. If flags are live that it changes, a counter is added up with `lea` in a
//! register with a home slot, which leaves them alone; anything else saves them in rax.

use bubble::switches::Optimisation;
use isa::routine::{ARGUMENTS, Inlined};
use isa::{Condition, Instruction, Kind};
use machine::{AppPc, Gpr, flags};

use super::{InPlace, Spot};
use crate::abi::{CounterPlace, ExitKind, R11, SLOT_SCRATCH, SPILL_SLOTS};
use crate::emit::emitter::{Emitter, Field, Fields};
use crate::routines::routine_of;
use crate::trace::{AnalysisCall, Arg};

/// Registers that hold an inlined routine's run-time arguments and scratch values.
pub(in crate::emit) struct Chosen {
    pub(in crate::emit) scratch: Vec<Gpr>,
    arguments: [Option<Gpr>; ARGUMENTS],
    /// Registers for arguments that are computed first.
    computed: Vec<(Gpr, Computed)>,
    pub(in crate::emit) save_flags: bool,
}

/// An argument that is computed before a routine in place.
#[derive(Clone, Copy)]
enum Computed {
    /// Address of the instruction's memory operand with this index.
    Address(usize),
    /// Whether this holds.
    Taken(Condition),
    /// A word: the target of the indirect branch that has been taken, what the tool keeps, the thread.
    Word(Field),
    /// Where the local state lies, given as that of the first thread.
    Local(u64),
}

impl Emitter<'_> {
    /// Emits the call's routine in place if it is small enough. `None`, with nothing emitted: the routine must be called.
    pub(in crate::emit) fn inline_call(
        &mut self,
        call: &AnalysisCall,
        spot: Spot,
        block_len: usize,
    ) -> Option<InPlace> {
        if call.predicated || !self.rules.off.leaves(Optimisation::Inline) {
            return None;
        }
        let instruction = &self.facts.trace.instructions[spot.index];
        let Some((address, amount)) = self.rules.known.added_by(call, block_len) else {
            let routine = routine_of(call, instruction, block_len, self.rules.off)?;
            return if self.may_be_in_place(&routine) { self.emit_inlined(&routine, call, spot) } else { None };
        };
        if self.rules.counters.is_in_register(address) && self.registers.r11 == R11::Reserved {
            self.out.code.lea(Gpr::R11, Gpr::R11, amount);
            let done = self.offset();
            return Some(InPlace { done, begun: done });
        }
        let flags_live = spot.live_flags != 0;
        let spread = self.rules.off.leaves(Optimisation::Shards);
        let place =
            if spread { self.rules.counters.place(address, instruction.pc()) } else { CounterPlace::Word(address) };
        if flags_live {
            let done = self.add_without_flags(place, amount, spot);
            return Some(InPlace { done, begun: done });
        }
        self.out.code.add_field_imm(Field::Counter(place), amount);
        let done = self.offset();
        Some(InPlace { done, begun: done })
    }

    /// What is known about registers here.
    pub(in crate::emit) fn registers(&self) -> Registers {
        Registers { reserved: self.reserved_registers(), unloaded: self.registers.unloaded }
    }

    pub(super) fn add_without_flags(&mut self, place: CounterPlace, amount: i32, spot: Spot) -> u32 {
        let (r, home) = self.borrow_register(spot.state, spot.block);
        self.mark_spot(spot, &[(r, home)], false);
        self.out.code.load_field(r, Field::Counter(place));
        self.out.code.lea(r, r, amount);
        self.out.code.store_field(Field::Counter(place), r);
        let done = self.offset();
        self.give_back_register(r, home);
        self.mark_spot(spot, &[], false);
        done
    }

    /// Whether a routine may be put in place that isn't an addition to a counter, see [`crate::abi::Counters`].
    pub(in crate::emit) fn may_be_in_place(&self, routine: &Inlined) -> bool {
        !routine.uses_memory() || !self.rules.off.leaves(Optimisation::Shards) || self.rules.counters.may_be_read()
    }

    fn emit_inlined(&mut self, routine: &Inlined, call: &AnalysisCall, spot: Spot) -> Option<InPlace> {
        let in_parts = !routine.works_at_once();
        // Asking for interruptions changes all of them.
        let written = if in_parts { flags::ARITHMETIC } else { routine.flags_written() };
        let flags_live = written & spot.live_flags != 0;
        let chosen = choose(routine, call, &self.facts.trace.instructions[spot.index], flags_live, self.registers())?;
        if in_parts {
            // Both ways out of it are to find the same in r11.
            self.take_r11();
        }
        let begun = self.offset();
        let borrowed = self.put_in_place(routine, &chosen, spot)?;
        let done = self.offset();
        let left = in_parts.then(|| {
            self.out.code.cmp_field_imm(Field::Interrupted, 0);
            let go_on = self.out.code.jcc_near(Condition::E);
            let exit = self.leave_interrupted(&chosen, &borrowed, spot);
            self.out.code.bind(go_on);
            self.mark_spot(spot, &borrowed, chosen.save_flags);
            exit
        });
        self.give_back_borrowed(&chosen, &borrowed, spot);
        if let Some(exit) = left {
            self.resume_here(exit);
        }
        Some(InPlace { done, begun: if in_parts { begun } else { done } })
    }

    /// Leaves since an interruption came while a routine in place had done only a part of its work, which is done now. Returns the exit, whose
    /// `site` is still to be told.
    pub(in crate::emit) fn leave_interrupted(
        &mut self,
        chosen: &Chosen,
        borrowed: &[(Gpr, usize)],
        spot: Spot,
    ) -> usize {
        self.give_back_borrowed(chosen, borrowed, spot);
        self.leave(ExitKind::Interrupted, AppPc(spot.pc), 0)
    }

    /// Emits a routine with the registers chosen for it. Returns what is borrowed behind it, or `None`, with nothing emitted, if it can't be encoded.
    pub(in crate::emit) fn put_in_place(
        &mut self,
        routine: &Inlined,
        chosen: &Chosen,
        spot: Spot,
    ) -> Option<Vec<(Gpr, usize)>> {
        let instruction = &self.facts.trace.instructions[spot.index];
        let start = self.out.code.bytes.len();
        let marks = self.marks.map.len();
        let borrowed: Vec<(Gpr, usize)> = chosen
            .scratch
            .iter()
            .copied()
            .chain(chosen.computed.iter().map(|&(r, _)| r))
            .chain(chosen.save_flags.then_some(Gpr::Rax))
            .filter(|&r| !self.is_unloaded(r))
            .zip(SLOT_SCRATCH..)
            .collect();
        for &(r, slot) in &borrowed {
            self.out.code.store_field(Field::Spill(slot), r);
        }
        self.mark_spot(spot, &borrowed, false);
        for &(r, what) in &chosen.computed {
            match what {
                Computed::Address(operand) => self.out.code.lea_memory(r, &instruction.memory_operands()[operand]),
                Computed::Taken(condition) => self.out.code.set_condition(condition, r),
                Computed::Word(field) => self.out.code.load_field(r, field),
                Computed::Local(address) => self.out.code.own_address(r, address),
            }
        }
        if chosen.save_flags {
            self.out.code.lahf();
            self.out.code.seto_al();
            self.mark_spot(spot, &borrowed, true);
        }
        if !routine.emit(&mut self.out.code, &chosen.scratch, &chosen.arguments) {
            self.out.code.bytes.truncate(start);
            self.marks.map.truncate(marks);
            self.mark_spot(spot, &[], false);
            return None;
        }
        Some(borrowed)
    }

    /// Gives back registers and flags that were borrowed for a routine.
    pub(in crate::emit) fn give_back_borrowed(&mut self, chosen: &Chosen, borrowed: &[(Gpr, usize)], spot: Spot) {
        if chosen.save_flags {
            self.out.code.restore_of_from_al();
            self.out.code.sahf();
            self.mark_spot(spot, borrowed, false);
        }
        for &(r, slot) in borrowed {
            self.out.code.load_field(r, Field::Spill(slot));
        }
        self.mark_spot(spot, &[], false);
    }
}

/// What may not be, and what is best used for a routine: one bit for each register.
#[derive(Clone, Copy)]
pub(in crate::emit) struct Registers {
    /// Can't be borrowed.
    pub(in crate::emit) reserved: u16,
    /// Holds nothing that would have to be kept.
    pub(in crate::emit) unloaded: u16,
}

/// Registers for the routine; `None` if there aren't enough or an argument can't be had inline.
pub(in crate::emit) fn choose(
    routine: &Inlined,
    call: &AnalysisCall,
    instruction: &Instruction,
    save_flags: bool,
    Registers { reserved, unloaded }: Registers,
) -> Option<Chosen> {
    if call.args.iter().any(|arg| arg.is_for_runtime(instruction)) {
        return None;
    }
    let mut arguments = [None; ARGUMENTS];
    let mut used = reserved | 1 << Gpr::Rsp as u16 | u16::from(save_flags) << Gpr::Rax as u16;
    for (n, arg) in call.args.iter().enumerate().filter(|&(n, _)| routine.reads_argument(n + 1)) {
        if let Arg::Register(r) = *arg {
            if r == Gpr::Rsp || save_flags && r == Gpr::Rax || reserved & 1 << r as u16 != 0 {
                return None;
            }
            arguments[n + 1] = Some(r);
            used |= 1 << r as u16;
        }
    }
    // These are computed when other registers may be borrowed already, but none that they depend on.
    let mut computed = Vec::new();
    let take = |used: &mut u16| {
        let taken = *used | instruction.usage().gpr_read;
        let r = isa::free_gpr(taken | !unloaded).or_else(|| isa::free_gpr(taken))?;
        *used |= 1 << r as u16;
        Some(r)
    };
    for (n, arg) in call.args.iter().enumerate().filter(|&(n, _)| routine.reads_argument(n + 1)) {
        let what = match (*arg, instruction.kind()) {
            (Arg::MemoryAddress(n), _) => {
                let is_reserved = instruction.usage().gpr_read & reserved != 0;
                if is_reserved || instruction.memory_operands().get(n)?.segment.is_some() {
                    return None;
                }
                Computed::Address(n)
            }
            (Arg::BranchTaken, Kind::Branch { condition, .. }) => Computed::Taken(condition),
            (Arg::BranchTaken, _) => return None,
            (Arg::TakesEffect, _) => match instruction.cmov_condition() {
                Some(condition) => Computed::Taken(condition),
                None => continue,
            },
            (Arg::BranchTarget, _) => Computed::Word(Field::Target),
            (Arg::Kept(n), _) => Computed::Word(Field::Kept(n)),
            (Arg::Thread, _) => Computed::Word(Field::Thread),
            _ => continue,
        };
        let r = take(&mut used)?;
        arguments[n + 1] = Some(r);
        computed.push((r, what));
    }
    if routine.reads_argument(0) {
        let r = take(&mut used)?;
        arguments[0] = Some(r);
        computed.push((r, Computed::Local(call.local)));
    }
    let scratch: Vec<Gpr> = (0..routine.scratch_count()).map(|_| take(&mut used)).collect::<Option<_>>()?;
    let kept =
        scratch.iter().chain(computed.iter().map(|(r, _)| r)).filter(|&&r| unloaded & 1 << r as u16 == 0).count();
    let borrowed = kept + usize::from(save_flags);
    // A mark describes three borrowed registers.
    (borrowed <= 3 && SLOT_SCRATCH + borrowed <= SPILL_SLOTS).then_some(Chosen {
        scratch,
        arguments,
        computed,
        save_flags,
    })
}
