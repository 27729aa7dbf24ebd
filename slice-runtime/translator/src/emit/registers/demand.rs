//! Which registers an instruction, its calls and its words need: questions only.

use isa::Kind;
use machine::Gpr;

use crate::abi::{R11, Reserved};
use crate::emit::emitter::{BOTH, Emitter, bit};
use crate::emit::plan::adds_to_counter_register;
use crate::trace::{AnalysisCall, Arg, Point};

const BIT: u16 = 1 << Gpr::R11 as u16;

impl Emitter<'_> {
    /// The registers with home slots that must be in place before an instruction and what belongs to it.
    pub(in crate::emit) fn needs(&self, index: usize) -> u16 {
        let usage = &self.facts.usages[index];
        let own = BOTH & (usage.gpr_read | usage.gpr_written & !usage.gpr_killed);
        if self.facts.trace.calls.is_empty() && self.facts.trace.buffered.is_empty() {
            return own;
        }
        let is_here = |(n, call): &(usize, &AnalysisCall)| match call.point {
            Point::Anywhere(_) => self.facts.placed[*n] == Some(index),
            point => point.index() == Some(index),
        };
        let named = |arg: &Arg| if let Arg::Register(r) = arg { bit(*r) } else { 0 };
        let calls = self.facts.trace.calls.iter().enumerate().filter(is_here).flat_map(|(_, call)| {
            let test = call.test.iter().flat_map(|test| &test.args);
            call.args.iter().chain(test)
        });
        let named = calls.fold(0, |all, arg| all | named(arg));
        own | BOTH & (named | self.needed_for_words(index))
    }

    /// Registers that the words before an instruction are made of.
    pub(in crate::emit) fn needed_for_words(&self, index: usize) -> u16 {
        let all = &self.facts.trace.buffered;
        let first = all.partition_point(|buffered| buffered.index < index);
        let here = all[first..].iter().take_while(|buffered| buffered.index == index);
        here.flat_map(|buffered| &buffered.words).fold(0, |needed, word| match word {
            Arg::Register(r) => needed | 1 << *r as u16,
            // Read by the instruction too.
            Arg::MemoryAddress(_) => needed | self.facts.usages[index].gpr_read,
            _ => needed,
        })
    }

    /// Those of them that addresses are computed of.
    pub(in crate::emit) fn needed_for_addresses(&self, index: usize) -> u16 {
        let words = self.facts.trace.buffered.iter().filter(|buffered| buffered.index == index);
        let has_address = words.flat_map(|buffered| &buffered.words).any(|word| matches!(word, Arg::MemoryAddress(_)));
        if has_address { self.facts.usages[index].gpr_read } else { 0 }
    }

    /// Whether an instruction is to find the app's r11, which is elsewhere. System calls change it outside of translated code.
    pub(in crate::emit) fn needs_r11(&self, index: usize) -> bool {
        let usage = &self.facts.usages[index];
        let names = (usage.gpr_read | usage.gpr_written) & BIT != 0;
        self.registers.reserved != Reserved::No && names && self.facts.trace.instructions[index].kind() != Kind::Syscall
    }

    /// Whether the words before an instruction are made of the app's r11, which is elsewhere.
    pub(in crate::emit) fn words_ask_r11(&self, index: usize) -> bool {
        let words = self.facts.trace.buffered.iter().filter(|buffered| buffered.index == index);
        words.flat_map(|buffered| &buffered.words).any(|word| self.asks_for_r11(*word, index))
    }

    /// Whether an argument at an instruction is made of the app's r11, which is elsewhere.
    pub(in crate::emit) fn asks_for_r11(&self, arg: Arg, index: usize) -> bool {
        let asks = match arg {
            Arg::Register(r) => r == Gpr::R11,
            Arg::MemoryAddress(_) => self.facts.usages[index].gpr_read & BIT != 0,
            _ => false,
        };
        self.registers.reserved != Reserved::No && asks
    }

    pub(in crate::emit) fn leaves_block(&self, index: usize) -> bool {
        let kind = self.facts.trace.instructions[index].kind();
        !matches!(kind, Kind::Plain | Kind::Trap | Kind::SegmentBase { .. }) || self.repeats(index).is_some()
    }

    /// Whether r11 holds the buffer pointer now.
    pub(in crate::emit) fn has_position(&self) -> bool {
        self.registers.reserved == Reserved::BufferPointer && self.registers.r11 == R11::Reserved
    }

    /// Registers that can't be borrowed.
    pub(in crate::emit) fn reserved_registers(&self) -> u16 {
        if self.registers.reserved == Reserved::No { 0 } else { BIT }
    }

    /// Whether the call is an addition to the counter register, or to a shard of its word.
    pub(in crate::emit) fn is_tallied(&self, call: &AnalysisCall) -> bool {
        adds_to_counter_register(call, self.rules.known, self.rules.counters)
    }
}
