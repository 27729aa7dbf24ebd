//! r11 is used for what a tool does most, as long as translated code runs.
//!
//! * The *counter register*: additions to the counter that comes up first. That is one `lea` for each block, which is short, leaves flags alone
//!   and doesn't touch memory: a third of what counting in memory costs is left.
//! * The *buffer pointer*, see `stream::words`: in memory each trace would wait for its store by the trace before.
//!
//! r11 is what compilers use least. The app's value of it is in a slot of the thread state; around instructions that name it, up to the end of
//! their block at most, r11 is the app's. The buffer pointer is in memory meanwhile. The counter register has been added to a shard of its word (see
//! [`crate::abi::Counters`]) and begins anew: nothing is loaded again that was stored shortly before, which would make blocks wait for each other.
//!
//! What r11 is for is decided by the first trace of a run: all of its code goes by the same rule.
//!
//! Named invariant *reserved*: at the start of each trace and wherever one is left r11 holds what it is reserved for.

use machine::Gpr;

use crate::abi::{Counters, R11, Reserved, SLOT_R11};
use crate::emit::emitter::{Emitter, Field, Fields};

const BIT: u16 = 1 << Gpr::R11 as u16;
const APP_AT: Field = Field::Spill(SLOT_R11);

impl Emitter<'_> {
    /// Before an instruction itself, after its words and calls: it finds its r11, and a block's last one leaves with what that is reserved for.
    pub(in crate::emit) fn r11_at(&mut self, index: usize, block: usize) {
        if self.needs_r11(index) {
            self.give_r11(index, block);
            self.registers.r11_changed |= self.facts.usages[index].gpr_written & BIT != 0;
        } else if self.leaves_block(index) {
            self.take_r11();
        }
    }

    /// After an instruction that a block goes on from to the next block.
    pub(in crate::emit) fn r11_after(&mut self, index: usize, block: usize) {
        if self.registers.r11 == R11::App && index + 1 == self.facts.trace.block(block).end {
            self.mark_left(self.facts.trace.instructions[index].next_pc().0);
            self.take_r11();
        }
    }

    /// r11 is the app's from here on. Nothing is held in it.
    pub(in crate::emit) fn give_r11(&mut self, index: usize, block: usize) {
        if self.registers.r11 == R11::App {
            return;
        }
        let pc = self.facts.trace.instructions[index].pc();
        let shard = Field::Counter(Counters::register_shard(pc));
        if self.registers.reserved == Reserved::BufferPointer {
            self.out.code.store_field(Field::Buffer, Gpr::R11);
            self.registers.r11 = R11::Nothing;
        } else if self.facts.live_flags[index] == 0 {
            self.out.code.add_field(shard, Gpr::R11);
            self.registers.r11 = R11::Nothing;
        } else {
            let (r, slot) = self.borrow_register(index, block);
            self.mark_borrowed(pc.0, &[(r, slot)]);
            self.out.code.load_field(r, shard);
            self.out.code.lea_sum(r, r, Gpr::R11);
            self.out.code.store_field(shard, r);
            self.registers.r11 = R11::Nothing;
            self.mark_borrowed(pc.0, &[(r, slot)]);
            self.give_back_register(r, slot);
        }
        self.mark(pc.0);
        self.out.code.load_field(Gpr::R11, APP_AT);
        self.registers.r11 = R11::App;
        self.registers.r11_changed = false;
        self.mark(pc.0);
    }

    /// r11 holds what it is reserved for from here on. What else the last mark said still holds.
    pub(in crate::emit) fn take_r11(&mut self) {
        if self.registers.r11 != R11::App {
            return;
        }
        if self.registers.r11_changed {
            self.out.code.store_field(APP_AT, Gpr::R11);
        }
        match self.registers.reserved {
            Reserved::BufferPointer => self.out.code.load_field(Gpr::R11, Field::Buffer),
            _ => self.out.code.mov_imm(Gpr::R11, 0),
        }
        self.registers.r11 = R11::Reserved;
        let last = *self.marks.map.last().expect("each instruction has a mark");
        self.marks.push(last.with_r11(self.offset(), R11::Reserved));
    }
}
