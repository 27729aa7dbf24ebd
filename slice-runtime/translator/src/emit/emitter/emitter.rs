//! The emitter: a translation in the making.

use isa::Usage;
use machine::{AppPc, CachePc, Gpr};

use super::marks::Marks;
use super::output::Output;
use super::registers::Registers;
use super::{Rules, ScratchBuffers, Shape, Site, WordsState};
use crate::abi::{CallDescriptor, ExitKind, MapEntry, NOT_BORROWED, PcSource, borrowed};
use crate::trace::{Point, Trace};

/// What is known of a trace before its first byte is written.
pub(in crate::emit) struct Facts<'a> {
    pub(in crate::emit) trace: &'a Trace,
    /// What each instruction uses.
    pub(in crate::emit) usages: Vec<Usage>,
    /// For each instruction, the flags that must be preserved before it.
    pub(in crate::emit) live_flags: Vec<u64>,
    /// For each block-level call: the index of the instruction before which it is made.
    pub(in crate::emit) placed: Vec<Option<usize>>,
    /// For each block that is counted: the index of the instruction before which that is done.
    pub(in crate::emit) counted: Vec<usize>,
}

/// A translation in the making: by which rules, of what, and what there is of it.
pub(in crate::emit) struct Emitter<'a> {
    pub(in crate::emit) rules: Rules<'a>,
    pub(in crate::emit) shape: Shape<'a>,
    pub(in crate::emit) site: Site,
    pub(in crate::emit) facts: Facts<'a>,
    pub(in crate::emit) out: Output,
    pub(in crate::emit) marks: Marks,
    pub(in crate::emit) registers: Registers,
    /// What is held while words are written.
    pub(in crate::emit) words: WordsState,
    /// Where buffers go back to.
    pub(in crate::emit) spare: &'a mut ScratchBuffers,
}

impl<'a> Emitter<'a> {
    /// Nothing is written yet.
    pub(in crate::emit) fn new(
        site: Site,
        rules: Rules<'a>,
        shape: Shape<'a>,
        facts: Facts<'a>,
        spare: &'a mut ScratchBuffers,
    ) -> Self {
        Self {
            out: Output::new(&site, rules.off, spare),
            marks: Marks::new(spare, facts.trace.calls.len()),
            registers: Registers::at_head(rules.off, rules.counters.reserved()),
            words: WordsState::default(),
            rules,
            shape,
            site,
            facts,
            spare,
        }
    }

    /// Offset of what is written next.
    pub(in crate::emit) fn offset(&self) -> u32 {
        self.out.offset()
    }

    /// From here on the app is about to execute `pc`, with all registers in place.
    pub(in crate::emit) fn mark(&mut self, pc: u64) {
        self.mark_with(pc, PcSource::Static, [NOT_BORROWED; 3]);
    }

    /// From here on the app goes on at `pc`, with all registers in place; the block before is complete.
    pub(in crate::emit) fn mark_left(&mut self, pc: u64) {
        self.mark_with(pc, PcSource::Left, [NOT_BORROWED; 3]);
    }

    /// From here on these registers are borrowed.
    pub(in crate::emit) fn mark_borrowed(&mut self, pc: u64, registers: &[(Gpr, usize)]) {
        let mut packed = [NOT_BORROWED; 3];
        for (slot, &(r, spill)) in packed.iter_mut().zip(registers) {
            *slot = borrowed(r, spill);
        }
        self.mark_with(pc, PcSource::Static, packed);
    }

    /// From here on these registers are borrowed, packed as in a [`MapEntry`].
    pub(in crate::emit) fn mark_with(&mut self, pc: u64, source: PcSource, borrowed: [u8; 3]) {
        let borrowed = self.words.with_held(borrowed);
        let entry = MapEntry::new(pc, self.offset(), source, self.registers.r11, borrowed);
        self.marks.push(entry.with_unloaded(self.registers.unloaded));
    }

    /// `jmp` to the app pc `target`: to an exit stub until it is linked.
    pub(in crate::emit) fn exit_jump(&mut self, target: AppPc) {
        self.out.align_rel32(1);
        let here = self.out.code.here();
        let site = self.out.code.jmp(here);
        self.direct_exit(target, site);
    }

    /// `rel32` at `site` leads to `target`.
    pub(in crate::emit) fn direct_exit(&mut self, target: AppPc, site: CachePc) {
        let at = (site.0 - self.site.pc.0) as usize;
        let exit = self.out.add_exit(ExitKind::Direct, target, 0);
        self.out.exits[exit].site = self.site.offset + at as u32;
        self.out.pending.push((exit, at));
    }

    /// The trace goes on here after an exit.
    pub(in crate::emit) fn resume_here(&mut self, exit: usize) {
        self.out.exits[exit].site = self.site.offset + self.out.offset();
    }

    /// Arena offset that the descriptor will have.
    pub(in crate::emit) fn add_descriptor(&mut self, descriptor: &CallDescriptor) -> u32 {
        self.site.arena + self.out.add_descriptor(descriptor)
    }

    /// Whether there are calls at this point.
    pub(in crate::emit) fn has_calls(&self, point: Point) -> bool {
        self.facts.trace.calls.iter().any(|call| call.point == point)
    }
}
