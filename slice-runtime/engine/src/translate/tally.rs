//! The tally: additions to the counter that comes up first are made in r11 as long as translated code runs.
//!
//! That is one `lea` for each block, which is short, leaves flags alone and doesn't touch memory: a third of what counting in memory
//! costs is left. r11 is what compilers use least. The app's value of it is in a slot of the thread state; around instructions that name it
//! the tally is added to a cell of its word (see [`crate::counters`]) and r11 is the app's, up to the end of their block at most. So nothing has to be
//! loaded again that was stored shortly before, which would make blocks wait for each other.
//!
//! Whether there is a tally is decided by the calls in the first trace of a run: all of its code goes by the same rule.
//!
//! Named invariant *tally*: at the start of each trace and wherever one is left r11 holds the tally.

use bubble::switches::Optimisation;
use isa::Kind;
use machine::Gpr;

use super::{Known, Rules, Translator};
use crate::counters::Counters;
use crate::instrument::{Arg, Call, Trace};
use crate::statemap::R11;
use crate::thread::{SLOT_R11, ThreadState};

const BIT: u16 = 1 << Gpr::R11 as u16;
const APP_AT: u64 = ThreadState::spill_address(SLOT_R11);

/// Decides whether there is to be a tally, from the first trace of a run.
pub(super) fn decide(trace: &Trace, rules: &Rules<'_>) {
    rules.counters.decide_tally(|| {
        let wanted = [Optimisation::Tally, Optimisation::Cells, Optimisation::Inline];
        let counts = |call: &Call| {
            let word = if call.predicated || call.test.is_some() { None } else { rules.known.added_by(call, 1) };
            word.is_some_and(|(address, _)| {
                rules.counters.place(address, trace.head()) != address && rules.counters.is_first(address)
            })
        };
        wanted.into_iter().all(|optimisation| rules.off.leaves(optimisation)) && trace.calls.iter().any(counts)
    });
}

/// Whether the call does nothing but add to the word that has the tally.
pub(super) fn adds_to_tally(call: &Call, known: &Known, counters: &Counters) -> bool {
    let is_tally = |(address, _)| counters.is_tally(address);
    !call.predicated && call.test.is_none() && counters.has_tally() && known.added_by(call, 1).is_some_and(is_tally)
}

impl Translator<'_> {
    /// Whether the call is an addition to the tally, or to a cell of its word.
    pub(super) fn is_tallied(&self, call: &Call) -> bool {
        self.has_tally && adds_to_tally(call, self.known, self.counters)
    }

    /// Registers that can't be borrowed.
    pub(super) fn reserved(&self) -> u16 {
        if self.has_tally { BIT } else { 0 }
    }

    /// Before the words and calls of an instruction: r11 holds the tally at a block's end, and the app's value if it is asked for.
    pub(super) fn tally_before(&mut self, index: usize, block: usize) {
        if self.leaves_block(index) {
            self.take_r11();
        }
        let asks = |word: &Arg| match word {
            Arg::Register(r) => *r == Gpr::R11,
            Arg::MemoryAddress(_) => self.names_r11(index),
            _ => false,
        };
        let words = self.trace.buffered.iter().filter(|buffered| buffered.index == index);
        if self.has_tally && words.flat_map(|buffered| &buffered.words).any(asks) {
            self.give_r11(index, block);
        }
    }

    /// Before an instruction itself, after its calls: it finds its r11, and a block's last one leaves with the tally.
    pub(super) fn tally_at(&mut self, index: usize, block: usize) {
        if self.has_tally && self.names_r11(index) && self.trace.instructions[index].kind() != Kind::Syscall {
            self.give_r11(index, block);
            self.r11_changed |= self.usages[index].gpr_written & BIT != 0;
        } else if self.leaves_block(index) {
            self.take_r11();
        }
    }

    /// After an instruction that a block goes on from to the next block.
    pub(super) fn tally_after(&mut self, index: usize, block: usize) {
        if self.r11 == R11::App && index + 1 == self.trace.block(block).end {
            self.mark_left(self.trace.instructions[index].next_pc().0);
            self.take_r11();
        }
    }

    fn names_r11(&self, index: usize) -> bool {
        let usage = &self.usages[index];
        (usage.gpr_read | usage.gpr_written) & BIT != 0
    }

    fn leaves_block(&self, index: usize) -> bool {
        !matches!(self.trace.instructions[index].kind(), Kind::Plain | Kind::Trap | Kind::SegmentBase { .. })
    }

    /// r11 is the app's from here on.
    fn give_r11(&mut self, index: usize, block: usize) {
        if self.r11 == R11::App {
            return;
        }
        let pc = self.trace.instructions[index].pc();
        let cell = Counters::tally_cell(pc);
        if self.live_flags[index] == 0 {
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
            self.code.load_mem(r, ThreadState::spill_address(slot));
        }
        self.mark(pc.0);
        self.code.load_mem(Gpr::R11, APP_AT);
        self.r11 = R11::App;
        self.r11_changed = false;
        self.mark(pc.0);
    }

    /// r11 holds an empty tally from here on. What else the last mark said still holds.
    pub(super) fn take_r11(&mut self) {
        if self.r11 != R11::App {
            return;
        }
        if self.r11_changed {
            self.code.store_mem(APP_AT, Gpr::R11);
        }
        self.code.mov_imm(Gpr::R11, 0);
        self.r11 = R11::Tally;
        let last = *self.map.last().expect("each instruction has a mark");
        self.push_mark(last.with_r11(self.offset(), R11::Tally));
    }
}
