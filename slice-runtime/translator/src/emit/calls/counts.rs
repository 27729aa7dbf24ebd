//! Blocks that are counted.

use super::Spot;
use crate::abi::{CountedBlock, CounterPlace, PcSource, block_counter_address};
use crate::emit::emitter::{Emitter, Field, Fields};

impl Emitter<'_> {
    /// Counts block `block` if that is done before instruction `index`.
    pub(in crate::emit) fn counts_before(&mut self, index: usize, block: usize) {
        let number = self.marks.counted.len();
        if self.facts.counted.get(number) != Some(&index) {
            return;
        }
        let instructions = &self.facts.trace.instructions[self.facts.trace.block(block)];
        let (first, end) = (instructions[0].pc().0, instructions[instructions.len() - 1].next_pc().0);
        let pc = self.facts.trace.instructions[index].pc().0;
        let live_flags = self.facts.live_flags[index];
        let spot = Spot { index, block, state: index, pc, source: PcSource::Static, live_flags };
        let address = block_counter_address(self.site.space, self.site.first_counter + number as u32);
        let place = CounterPlace::Word(address);
        let done = if live_flags == 0 {
            self.out.code.add_field_imm(Field::Counter(place), 1);
            self.offset()
        } else {
            self.add_without_flags(place, 1, spot)
        };
        let code = (first - self.facts.trace.head().0) as u32;
        let executed = if block == 0 { self.facts.trace.executed.len() as u32 } else { 0 };
        let tools = self.facts.trace.counted[number].tools;
        self.marks.counted.push(CountedBlock { first, code, len: (end - first) as u32, done, executed, tools });
    }
}
