//! Words that translated code can't compute: it leaves, and the runtime writes all words of the instruction, as many as there are. So they are taken back as others are.

use crate::abi::{BufferMark, CallDescriptor, ExitKind};
use crate::emit::emitter::Emitter;
use crate::trace::{Arg, Buffered};

impl Emitter<'_> {
    /// Whether translated code can't compute all of these words, which are of one instruction.
    pub(super) fn are_for_runtime(&self, here: &[Buffered]) -> bool {
        here.iter().any(|buffered| {
            let instruction = &self.facts.trace.instructions[buffered.index];
            buffered.words.iter().any(|word| word.is_for_runtime(instruction))
        })
    }

    /// Leaves for the runtime to write the words of an instruction.
    pub(super) fn leave_for_words(&mut self, here: &[Buffered], index: usize) {
        self.give_back(index);
        let instruction = &self.facts.trace.instructions[index];
        let words: Vec<Arg> = here.iter().flat_map(|buffered| &buffered.words).copied().collect();
        let descriptor = self.add_descriptor(&CallDescriptor::of_words(&words, index, instruction));
        let pc = instruction.pc();
        let exit = self.leave(ExitKind::Words, pc, descriptor);
        self.resume_here(exit);
        let counted = self.offset();
        self.marks.words.push(BufferMark { pc: pc.0, words: words.len() as u32, counted });
        self.words.uncounted = self.marks.words.len();
    }
}
