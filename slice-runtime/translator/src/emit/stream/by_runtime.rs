//! Words that translated code can't compute: the runtime writes all words of the instruction, as many as there are. So they are taken back as others are. It is called, or translated code leaves for it.

use crate::abi::{BufferMark, CallDescriptor, ExitKind, PcSource};
use crate::emit::calls::Spot;
use crate::emit::emitter::Emitter;
use crate::trace::{Arg, Buffered};

impl Emitter<'_> {
    /// Whether translated code can't compute all of these words, which are of one instruction.
    pub(super) fn are_for_runtime(&self, here: &[Buffered]) -> bool {
        here.iter().any(|buffered| {
            let instruction = &self.facts.trace.instructions[buffered.index];
            buffered.words.iter().any(|word| self.is_for_runtime(*word, instruction))
        })
    }

    /// Has the runtime write the words of an instruction.
    pub(super) fn words_by_runtime(&mut self, here: &[Buffered], index: usize, block: usize) {
        self.give_back(index);
        let instruction = &self.facts.trace.instructions[index];
        let words: Vec<Arg> = here.iter().flat_map(|buffered| &buffered.words).copied().collect();
        let descriptor = self.add_descriptor(&CallDescriptor::of_words(&words, index, instruction));
        let pc = instruction.pc();
        let counted = if self.calls_runtime() {
            let live_flags = self.facts.live_flags[index];
            let spot = Spot { index, block, state: index, pc: pc.0, source: PcSource::Static, live_flags };
            self.clean_words(spot, descriptor)
        } else {
            let exit = self.leave(ExitKind::Words, pc, descriptor);
            self.resume_here(exit);
            self.offset()
        };
        self.marks.words.push(BufferMark { pc: pc.0, words: words.len() as u32, counted });
        self.words.uncounted = self.marks.words.len();
    }
}
