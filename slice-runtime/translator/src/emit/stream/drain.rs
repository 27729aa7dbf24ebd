//! Emptying the buffer before it is full.
//!
//! A full buffer raises a fault, which costs a signal, and a buffer that is seldom emptied doesn't stay in a core's caches. So at the heads of some traces it is looked
//! at how much is in it, which costs one comparison: only where flags are dead.

use isa::Condition;
use machine::Gpr;

use crate::abi::{ExitKind, MUCH, ThreadState};
use crate::emit::emitter::Emitter;
use crate::emit::plan::may_drain;

impl Emitter<'_> {
    /// Leaves before the trace's first instruction if there is much in the buffer.
    pub(in crate::emit) fn drain_if_much(&mut self) {
        if self.once || self.live_flags[0] != 0 || !may_drain(self.trace, self.off) {
            return;
        }
        match self.buffer.held {
            Some(held) => self.code.test32(held.position.0, MUCH),
            None if self.has_position() => self.code.test32(Gpr::R11, MUCH),
            None => self.code.test_mem32(ThreadState::BUFFER_ADDRESS, MUCH),
        }
        let jump = self.code.jcc_near(Condition::Ne);
        self.buffer.drain = Some((jump, self.buffer.held));
    }

    /// What is executed then.
    pub(in crate::emit) fn way_out_to_drain(&mut self) {
        let Some((jump, held)) = self.buffer.drain.take() else { return };
        let head = self.trace.head();
        self.code.bind(jump);
        self.buffer.held = held;
        self.absent = self.absent_at_ends();
        // Nothing of this trace is counted, or everything of its last round.
        self.mark_left(head.0);
        if let Some(held) = held {
            self.load_back(held);
        }
        self.buffer.held = None;
        self.mark_left(head.0);
        self.leave(ExitKind::Drain, head, 0);
    }
}
