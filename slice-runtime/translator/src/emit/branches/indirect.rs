//! Calls, returns and indirect branches.
//!
//! Where targets are looked up in a map, see `target_map`. Otherwise an indirect branch goes by a table:
//!
//! ```text
//!     r10 = target                       both registers were stored in their home slots before
//!     r9  = the target's place           see [`index_of`]
//!     jmp gs:[r9 * 8 + table]            to an *IBL stub*: it compares r10 with its own target
//!         same ─────► the target's trace
//!         another ──► the next IBL stub of this place, or of a further table ([`Level`]), at last the runtime
//! ```
//!
//! An IBL stub compares in rcx, whose value is in r9 meanwhile: moving costs nothing, a store and the load after it would. r10 and r9 are loaded from their
//! home slots where something needs them (or here, with `no-late`). Each branch has its own indirect jump, so the hardware predicts them separately.

use bubble::switches::Optimisation;
use isa::Instruction;
use machine::{AppPc, CachePc, Gpr};

use super::ibl_stub::{R9_AT, R10_AT, jump_to_ibl_stub};
use super::target_map::look_up;
use crate::abi::{Level, PcSource, ThreadState, in_home_slots, index_of};
use crate::emit::emitter::{Emitter, Field, Fields, Lookup, bit};
use crate::trace::Point;

impl Emitter<'_> {
    /// Pushes the app's return address, without touching flags. `free`: a register that may be overwritten. Without one the address becomes a literal
    /// behind the trace, which costs a cache line.
    fn push_return(&mut self, address: u64, free: Option<Gpr>) {
        if self.rules.off.leaves(Optimisation::Prefetch) && matches!(self.shape.lookup, Lookup::IblStubs) {
            self.out.code.prefetch_mem(ThreadState::indirect_address(index_of(AppPc(address), self.rules.off)));
        }
        if let Ok(immediate) = i32::try_from(address as i64) {
            return self.out.code.push_imm32(immediate);
        }
        if let Some(r) = free {
            self.out.code.mov_imm(r, address);
            return self.out.code.push(r);
        }
        let here = self.out.code.here();
        self.out.code.push_rip_literal(CachePc(here.0));
        self.out.returns.push((self.out.code.bytes.len() - 4, address));
    }

    /// Pushes the return address of a direct call.
    pub(in crate::emit) fn call_pushes(&mut self, index: usize) {
        let instruction = &self.facts.trace.instructions[index];
        let free = self.unloaded_at_ends() != 0 && !self.has_calls(Point::Taken(index));
        if free {
            let asked = if let Lookup::TargetMap { ask_for } = self.shape.lookup { ask_for } else { None };
            self.registers.unloaded |= bit(Gpr::R10) | if asked.is_some() { bit(Gpr::R9) } else { 0 };
            self.mark(instruction.pc().0);
            if let Some(place) = asked {
                self.out.code.mov_imm(Gpr::R9, place);
                self.out.code.prefetch(Gpr::R9);
            }
        }
        self.push_return(instruction.next_pc().0, free.then_some(Gpr::R10));
    }

    /// From here on r10 and r9 are borrowed.
    fn borrow_for_indirect(&mut self, pc: u64) {
        self.mark_with(pc, PcSource::Static, in_home_slots());
    }

    /// The branch has taken effect; its target is in r10.
    fn go_to_r10(&mut self, index: usize, block: usize) {
        self.mark_with(0, PcSource::InR10, in_home_slots());
        let gone = self.offset();
        if self.has_calls(Point::Taken(index)) {
            self.out.code.store_field(Field::Target, Gpr::R10);
            self.mark_with(0, PcSource::InTarget, in_home_slots());
            self.out.code.load_field(Gpr::R10, R10_AT);
            self.out.code.load_field(Gpr::R9, R9_AT);
            self.registers.unloaded = 0;
            self.calls_taken(index, block, None, gone);
            self.out.code.load_field(Gpr::R10, Field::Target);
            self.mark_with(0, PcSource::InR10, in_home_slots());
        }
        if self.shape.once {
            return self.out.code.jmp_gs(ThreadState::MISS_AT);
        }
        match self.shape.lookup {
            Lookup::IblStubs => jump_to_ibl_stub(&mut self.out.code, self.rules.off, Level::First),
            Lookup::TargetMap { .. } => look_up(&mut self.out.code),
        }
    }

    fn load_target(&mut self, instruction: &Instruction) {
        if instruction.segment() == Some(isa::Segment::Gs) {
            self.out.code.lea_operand(Gpr::R10, instruction);
            self.out.code.load_gs(Gpr::R9, ThreadState::APP_GS_AT);
            self.out.code.load_indexed(Gpr::R10, Gpr::R10, Gpr::R9, 1, 0);
        } else {
            self.out.code.load_branch_target(Gpr::R10, instruction);
        }
    }

    pub(in crate::emit) fn indirect_jump(&mut self, index: usize, block: usize) {
        let instruction = &self.facts.trace.instructions[index];
        self.borrow_for_indirect(instruction.pc().0);
        self.load_target(instruction);
        self.take_r11();
        self.go_to_r10(index, block);
    }

    pub(in crate::emit) fn indirect_call(&mut self, index: usize, block: usize) {
        let instruction = &self.facts.trace.instructions[index];
        self.borrow_for_indirect(instruction.pc().0);
        self.load_target(instruction);
        self.take_r11();
        self.push_return(instruction.next_pc().0, Some(Gpr::R9));
        self.go_to_r10(index, block);
    }

    pub(in crate::emit) fn indirect_return(&mut self, index: usize, block: usize, extra_pop: u16) {
        let instruction = &self.facts.trace.instructions[index];
        self.borrow_for_indirect(instruction.pc().0);
        if extra_pop == 0 {
            self.out.code.pop(Gpr::R10);
        } else {
            // rsp moves in one step: it is the app's at every place.
            self.out.code.load(Gpr::R10, Gpr::Rsp, 0);
            self.out.code.lea(Gpr::Rsp, Gpr::Rsp, 8 + i32::from(extra_pop));
        }
        self.go_to_r10(index, block);
    }
}
