//! Indirect branches through words that can't be written, see [`crate::slots`]: nothing is loaded and nothing looked up.

use isa::{Instruction, Kind};

use super::Translator;
use crate::instrument::Point;

/// The word at a fixed address that an indirect branch goes through, if it does.
pub fn slot(instruction: &Instruction) -> Option<u64> {
    let is_indirect = matches!(instruction.kind(), Kind::JumpIndirect | Kind::CallIndirect);
    instruction.rip_target().filter(|_| is_indirect && instruction.segment().is_none())
}

impl Translator<'_> {
    /// Emits the trace's last instruction as a direct branch. False, with nothing emitted, if that isn't known to go to one place. Calls of a tool's
    /// routines on its way would look for its target where other indirect branches leave it, so there it is one of those.
    pub(super) fn branch_through_slot(&mut self, index: usize) -> bool {
        let Some(target) = self.through_slot.filter(|_| !self.has_calls(Point::Taken(index))) else { return false };
        if self.trace.instructions[index].kind() == Kind::CallIndirect {
            self.call_pushes(index);
            self.mark_left(target.0);
        }
        self.exit_jump(target);
        true
    }
}
