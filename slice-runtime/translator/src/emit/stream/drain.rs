//! Emptying the buffer before it is full.
//!
//! A full buffer raises a fault, which costs a signal. And a buffer that is seldom emptied doesn't stay in a core's caches. So some traces look at their
//! heads how much is in it. That is one comparison, and is done only where flags are dead.

use isa::Condition;
use machine::Gpr;

use crate::abi::{ExitKind, MUCH};
use crate::emit::emitter::{Emitter, Field, Fields};
use crate::emit::plan::may_drain;

impl Emitter<'_> {
    /// Leaves before the trace's first instruction if there is much in the buffer.
    pub(in crate::emit) fn drain_if_much(&mut self) {
        if self.shape.part || self.facts.live_flags[0] != 0 || !may_drain(self.facts.trace, self.rules.off) {
            return;
        }
        match self.words.held {
            Some(held) => self.out.code.test32(held.pointer.0, MUCH),
            None if self.has_position() => self.out.code.test32(Gpr::R11, MUCH),
            None => self.out.code.test_field32(Field::Buffer, MUCH),
        }
        let jump = self.out.code.jcc_near(Condition::Ne);
        self.words.drain = Some((jump, self.words.held));
    }

    /// What is executed then.
    pub(in crate::emit) fn way_out_to_drain(&mut self) {
        let Some((jump, held)) = self.words.drain.take() else { return };
        let head = self.facts.trace.head();
        self.out.code.bind(jump);
        self.words.held = held;
        self.registers.unloaded = self.unloaded_at_ends();
        // Nothing of this trace is counted, or everything of its last round.
        self.mark_left(head.0);
        if let Some(held) = held {
            self.load_back(held);
        }
        self.words.held = None;
        self.mark_left(head.0);
        self.leave(ExitKind::Drain, head, 0);
    }
}
