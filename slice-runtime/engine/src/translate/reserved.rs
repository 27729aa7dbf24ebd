//! r11 is used for what a tool does most, as long as translated code runs.
//!
//! * The *tally*: additions to the counter that comes up first. That is one `lea` for each block, which is short, leaves flags alone
//!   and doesn't touch memory: a third of what counting in memory costs is left.
//! * The buffer's *position*, see [`super::buffer`]: in memory each trace would wait for its store by the trace before.
//!
//! r11 is what compilers use least. The app's value of it is in a slot of the thread state; around instructions that name it, up to the end of
//! their block at most, r11 is the app's. The position is in memory meanwhile. The tally has been added to a cell of its word (see
//! [`crate::counters`]) and begins anew: nothing is loaded again that was stored shortly before, which would make blocks wait for each other.
//!
//! What r11 is for is decided by the first trace of a run: all of its code goes by the same rule.
//!
//! Named invariant *reserved*: at the start of each trace and wherever one is left r11 holds what it is reserved for.

use bubble::switches::Optimisation;
use isa::Kind;
use machine::Gpr;

use super::{Known, Rules, Translator};
use crate::counters::{Counters, Reserved};
use crate::instrument::{Arg, Call, Trace};
use crate::statemap::R11;
use crate::thread::{SLOT_R11, ThreadState};

const BIT: u16 = 1 << Gpr::R11 as u16;
const APP_AT: u64 = ThreadState::spill_address(SLOT_R11);

/// Decides what r11 is for, from the first trace of a run.
pub(super) fn decide(trace: &Trace, rules: &Rules<'_>) {
    let on = |all: &[Optimisation]| all.iter().all(|&optimisation| rules.off.leaves(optimisation));
    rules.counters.reserve(|| {
        let counts = |call: &Call| {
            let word = if call.predicated || call.test.is_some() { None } else { rules.known.added_by(call, 1) };
            word.is_some_and(|(address, _)| {
                rules.counters.place(address, trace.head()) != address && rules.counters.is_first(address)
            })
        };
        if !trace.buffered.is_empty() && on(&[Optimisation::Keep, Optimisation::Hold]) {
            Reserved::Position
        } else if on(&[Optimisation::Tally, Optimisation::Cells, Optimisation::Inline])
            && trace.calls.iter().any(counts)
        {
            Reserved::Tally
        } else {
            Reserved::No
        }
    });
}

/// Whether the call does nothing but add to the word that has the tally.
pub(super) fn adds_to_tally(call: &Call, known: &Known, counters: &Counters) -> bool {
    let is_tally = |(address, _)| counters.is_tally(address);
    !call.predicated
        && call.test.is_none()
        && counters.reserved() == Reserved::Tally
        && known.added_by(call, 1).is_some_and(is_tally)
}

impl Translator<'_> {
    /// Whether the call is an addition to the tally, or to a cell of its word.
    pub(super) fn is_tallied(&self, call: &Call) -> bool {
        adds_to_tally(call, self.known, self.counters)
    }

    /// Whether r11 holds the buffer's position now.
    pub(super) fn has_position(&self) -> bool {
        self.reserved == Reserved::Position && self.r11 == R11::Reserved
    }

    /// Registers that can't be borrowed.
    pub(super) fn reserved_registers(&self) -> u16 {
        if self.reserved == Reserved::No { 0 } else { BIT }
    }

    /// Before the words and calls of an instruction: a block's last one leaves with what r11 is reserved for, and words find the app's
    /// value if they are made of it.
    pub(super) fn r11_before(&mut self, index: usize, block: usize) {
        if self.leaves_block(index) {
            self.take_r11();
        }
        if self.words_ask_r11(index) {
            self.give_back(index);
            self.give_r11(index, block);
        }
    }

    /// Before an instruction itself, after its words and calls: it finds its r11, and a block's last one leaves with what that is reserved for.
    pub(super) fn r11_at(&mut self, index: usize, block: usize) {
        if self.needs_r11(index) {
            self.give_r11(index, block);
            self.r11_changed |= self.usages[index].gpr_written & BIT != 0;
        } else if self.leaves_block(index) {
            self.take_r11();
        }
    }

    /// After an instruction that a block goes on from to the next block.
    pub(super) fn r11_after(&mut self, index: usize, block: usize) {
        if self.r11 == R11::App && index + 1 == self.trace.block(block).end {
            self.mark_left(self.trace.instructions[index].next_pc().0);
            self.take_r11();
        }
    }

    /// Whether an instruction is to find the app's r11, which is elsewhere. System calls change it outside of translated code.
    pub(super) fn needs_r11(&self, index: usize) -> bool {
        let usage = &self.usages[index];
        let names = (usage.gpr_read | usage.gpr_written) & BIT != 0;
        self.reserved != Reserved::No && names && self.trace.instructions[index].kind() != Kind::Syscall
    }

    /// Whether the words before an instruction are made of the app's r11, which is elsewhere.
    pub(super) fn words_ask_r11(&self, index: usize) -> bool {
        let words = self.trace.buffered.iter().filter(|buffered| buffered.index == index);
        words.flat_map(|buffered| &buffered.words).any(|word| self.asks_for_r11(*word, index))
    }

    /// Whether an argument at an instruction is made of the app's r11, which is elsewhere.
    pub(super) fn asks_for_r11(&self, arg: Arg, index: usize) -> bool {
        let asks = match arg {
            Arg::Register(r) => r == Gpr::R11,
            Arg::MemoryAddress(_) => self.usages[index].gpr_read & BIT != 0,
            _ => false,
        };
        self.reserved != Reserved::No && asks
    }

    fn leaves_block(&self, index: usize) -> bool {
        !matches!(self.trace.instructions[index].kind(), Kind::Plain | Kind::Trap | Kind::SegmentBase { .. })
    }

    /// r11 is the app's from here on. Nothing is held in it.
    fn give_r11(&mut self, index: usize, block: usize) {
        if self.r11 == R11::App {
            return;
        }
        let pc = self.trace.instructions[index].pc();
        let cell = Counters::tally_cell(pc);
        if self.reserved == Reserved::Position {
            self.code.store_mem(ThreadState::BUFFER_ADDRESS, Gpr::R11);
            self.r11 = R11::Nothing;
        } else if self.live_flags[index] == 0 {
            self.code.add_mem(cell, Gpr::R11);
            self.r11 = R11::Nothing;
        } else {
            let (r, slot) = self.borrow_register(index, block);
            self.mark_borrowed(pc.0, &[(r, slot)]);
            self.code.load_mem(r, cell);
            self.code.lea_sum(r, r, Gpr::R11);
            self.code.store_mem(cell, r);
            self.r11 = R11::Nothing;
            self.mark_borrowed(pc.0, &[(r, slot)]);
            self.give_back_register(r, slot);
        }
        self.mark(pc.0);
        self.code.load_mem(Gpr::R11, APP_AT);
        self.r11 = R11::App;
        self.r11_changed = false;
        self.mark(pc.0);
    }

    /// r11 holds what it is reserved for from here on. What else the last mark said still holds.
    pub(super) fn take_r11(&mut self) {
        if self.r11 != R11::App {
            return;
        }
        if self.r11_changed {
            self.code.store_mem(APP_AT, Gpr::R11);
        }
        match self.reserved {
            Reserved::Position => self.code.load_mem(Gpr::R11, ThreadState::BUFFER_ADDRESS),
            _ => self.code.mov_imm(Gpr::R11, 0),
        }
        self.r11 = R11::Reserved;
        let last = *self.map.last().expect("each instruction has a mark");
        self.push_mark(last.with_r11(self.offset(), R11::Reserved));
    }
}
