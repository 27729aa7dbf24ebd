//! Analysis routines that are put into the trace instead of being called (P29).
//!
//! The routine's own machine code is written in place, with constant arguments folded in and its registers chosen here. Scratch
//! registers are spilled around it. If flags are live that it changes, a counter is added up with `lea` in a mirrored
//! register, which leaves them alone; anything else saves them in rax.

use bubble::switches::Optimisation;
use isa::Instruction;
use isa::routine::{ARGUMENTS, Inlined, inline};
use machine::Gpr;

use super::{Rules, Translator};
use crate::instrument::{Arg, Call, Point, Trace};
use crate::statemap::R11;
use crate::thread::{SLOT_SCRATCH, SPILL_SLOTS, ThreadState};

/// Bytes of a routine that are looked at.
const ROUTINE_BYTES: usize = 256;

/// Registers that hold an inlined routine's run-time arguments and scratch values.
struct Chosen {
    scratch: Vec<Gpr>,
    arguments: [Option<Gpr>; ARGUMENTS],
    /// Scratch registers to be loaded with the address of the instruction's memory operand first.
    addresses: Vec<Gpr>,
    save_flags: bool,
}

impl Translator<'_> {
    /// Emits the call's routine in place if it is small enough. Returns the offset from which on the routine has done its
    /// work (a counter has been added up), or `None`, with nothing emitted, if the routine must be called.
    pub(super) fn inline_call(&mut self, call: &Call, index: usize, block: usize, block_len: usize) -> Option<u32> {
        if call.predicated || !self.off.leaves(Optimisation::Inline) {
            return None;
        }
        let instruction = &self.trace.instructions[index];
        let Some((address, amount)) = self.known.added_by(call, block_len) else {
            let routine = routine_of(call, instruction, block_len)?;
            let flags_live = routine.flags_written() & self.live_flags[index] != 0;
            let spread = self.off.leaves(Optimisation::Cells);
            let allowed = !routine.uses_memory() || !spread || self.counters.may_be_read();
            return if allowed { self.emit_inlined(&routine, call, instruction, flags_live) } else { None };
        };
        if self.counters.is_tally(address) && self.r11 == R11::Reserved {
            self.code.lea(Gpr::R11, Gpr::R11, amount);
            return Some(self.offset());
        }
        let flags_live = self.live_flags[index] != 0;
        let spread = self.off.leaves(Optimisation::Cells);
        let place = if spread { self.counters.place(address, instruction.pc()) } else { address };
        if flags_live {
            return Some(self.add_without_flags(place, amount, index, block));
        }
        self.code.add_mem_imm(place, amount);
        Some(self.offset())
    }

    fn add_without_flags(&mut self, address: u64, amount: i32, index: usize, block: usize) -> u32 {
        let pc = self.trace.instructions[index].pc().0;
        let (r, mirror) = self.borrow_register(index, block);
        let slot = ThreadState::spill_address(mirror);
        self.mark_borrowed(pc, &[(r, mirror)]);
        self.code.load_mem(r, address);
        self.code.lea(r, r, amount);
        self.code.store_mem(address, r);
        let done = self.offset();
        self.code.load_mem(r, slot);
        self.mark(pc);
        done
    }

    fn emit_inlined(
        &mut self,
        routine: &Inlined,
        call: &Call,
        instruction: &Instruction,
        flags_live: bool,
    ) -> Option<u32> {
        let chosen = choose(routine, call, instruction, flags_live, self.reserved_registers())?;
        let start = self.code.bytes.len();
        let marks = self.map.len();
        let borrowed: Vec<(Gpr, usize)> = chosen
            .scratch
            .iter()
            .chain(&chosen.addresses)
            .copied()
            .chain(chosen.save_flags.then_some(Gpr::Rax))
            .zip(SLOT_SCRATCH..)
            .collect();
        for &(r, slot) in &borrowed {
            self.code.store_mem(ThreadState::spill_address(slot), r);
        }
        self.mark_borrowed(instruction.pc().0, &borrowed);
        for &r in &chosen.addresses {
            self.code.lea_operand(r, instruction);
        }
        if chosen.save_flags {
            self.code.lahf();
            self.code.seto_al();
        }
        if !routine.emit(&mut self.code, &chosen.scratch, &chosen.arguments) {
            self.code.bytes.truncate(start);
            self.map.truncate(marks);
            self.mark(instruction.pc().0);
            return None;
        }
        let done = self.offset();
        if chosen.save_flags {
            self.code.restore_of_from_al();
            self.code.sahf();
        }
        for &(r, slot) in &borrowed {
            self.code.load_mem(r, ThreadState::spill_address(slot));
        }
        self.mark(instruction.pc().0);
        Some(done)
    }
}

/// The first calls of a run decide what is done about counters: if one of this trace may read a counter in place, none has cells.
pub(super) fn choose_counters(trace: &Trace, rules: &Rules<'_>) {
    if !rules.counters.is_undecided() {
        return;
    }
    let reads = |call: &Call| {
        let index = match call.point {
            Point::Before(index) => index,
            Point::Anywhere(block) => trace.block(block).start,
        };
        let counter = rules.known.added_by(call, 1).is_some();
        let routine = || routine_of(call, &trace.instructions[index], 1);
        !call.predicated && !counter && routine().is_some_and(|routine| routine.uses_memory())
    };
    if trace.calls.iter().any(reads) {
        rules.counters.may_be_read();
    }
}

/// The call's routine with its constant arguments folded in, if it is small enough.
fn routine_of(call: &Call, instruction: &Instruction, block_len: usize) -> Option<Inlined> {
    let mut known = [None; ARGUMENTS];
    known[0] = Some(call.local);
    for (slot, arg) in known[1..].iter_mut().zip(&call.args) {
        *slot = constant(*arg, instruction, block_len);
    }
    inline(routine_code(call.routine), call.routine as u64, &known)
}

fn constant(arg: Arg, instruction: &Instruction, block_len: usize) -> Option<u64> {
    match arg {
        Arg::Const(value) => Some(value),
        Arg::BlockInstructions => Some(block_len as u64),
        Arg::InstructionPointer => Some(instruction.pc().0),
        Arg::Register(_) | Arg::MemoryAddress(_) => None,
    }
}

/// Registers for the routine; `None` if there aren't enough or an argument can't be had inline.
fn choose(
    routine: &Inlined,
    call: &Call,
    instruction: &Instruction,
    save_flags: bool,
    reserved: u16,
) -> Option<Chosen> {
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
    // The operand's address is taken when other registers may be borrowed already, but none that it depends on.
    let mut addresses = Vec::new();
    let take = |used: &mut u16| {
        let r = isa::free_gpr(*used | instruction.usage().gpr_read)?;
        *used |= 1 << r as u16;
        Some(r)
    };
    for (n, arg) in call.args.iter().enumerate().filter(|&(n, _)| routine.reads_argument(n + 1)) {
        if let Arg::MemoryAddress(operand) = *arg {
            let operand = instruction.memory_operands().get(operand).copied()?;
            let is_reserved = instruction.usage().gpr_read & reserved != 0;
            if is_reserved || operand.stack || operand.segment.is_some() || !instruction.has_replaceable_operand() {
                return None;
            }
            let r = take(&mut used)?;
            arguments[n + 1] = Some(r);
            addresses.push(r);
        }
    }
    let scratch: Vec<Gpr> = (0..routine.scratch_count()).map(|_| take(&mut used)).collect::<Option<_>>()?;
    let borrowed = scratch.len() + addresses.len() + usize::from(save_flags);
    // A mark describes three borrowed registers.
    (borrowed <= 3 && SLOT_SCRATCH + borrowed <= SPILL_SLOTS).then_some(Chosen {
        scratch,
        arguments,
        addresses,
        save_flags,
    })
}

/// The machine code of a routine of the image.
pub(super) fn routine_code(routine: usize) -> &'static [u8] {
    // SAFETY: the routine is a function of the image; its text goes on for at least this long, since the runtime's own code is
    // linked into the same section.
    unsafe { std::slice::from_raw_parts(routine as *const u8, ROUTINE_BYTES) }
}
