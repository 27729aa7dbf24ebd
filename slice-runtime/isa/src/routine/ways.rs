//! The ways through a routine: its branches, which all go forward.
//!
//! Instructions are read in the order of their addresses. What is known at a branch is kept for its target; where ways meet, only what is
//! known on both is known. A constant is in its register on both sides of a branch, so that where ways meet with different ones the register tells.
//! A template's branch has the number of the template that it goes to as its target.

use iced_x86::{Code, Instruction as Iced};

use super::branch::jcc;
use super::fold::ConstantFolder;
use super::state::Way;
use crate::decode::{Condition, Instruction, Kind};

/// Behind the routine: where `ret` goes.
const END: u64 = u64::MAX;

impl ConstantFolder {
    /// The instruction at `pc` is the next one. `None`: a branch goes backwards, or into an instruction.
    pub(super) fn come_to(&mut self, pc: u64) -> Option<()> {
        if self.ways.iter().any(|way| way.target < pc) {
            return None;
        }
        self.meet(pc)
    }

    /// Whether all ways have come to the routine's end.
    pub(super) fn is_complete(&self) -> bool {
        !self.reached && self.ways.iter().all(|way| way.target == END)
    }

    /// Reads the next instruction, unless no way leads to it. `None`: it isn't understood.
    pub(super) fn read(&mut self, instruction: &Instruction) -> Option<()> {
        if !self.reached {
            return Some(());
        }
        match instruction.kind() {
            Kind::Return { extra_pop: 0 } => self.jump(END),
            Kind::Jump { target } => self.jump(target.0),
            Kind::Branch { target, condition } => self.branch(condition, target.0),
            _ => self.add(instruction),
        }
    }

    /// The templates, when all ways have come to the end. With `result` they leave its result in rax.
    pub(super) fn finish(mut self, result: bool) -> Option<Vec<Iced>> {
        self.meet(END)?;
        self.end(result)
    }

    fn jump(&mut self, target: u64) -> Option<()> {
        self.leave(Code::Jmp_rel32_64, target)?;
        self.reached = false;
        Some(())
    }

    fn branch(&mut self, condition: Condition, target: u64) -> Option<()> {
        if let Some(flags) = self.state.flags {
            return if condition.holds(flags) { self.jump(target) } else { Some(()) };
        }
        if !self.state.flags_valid {
            return None;
        }
        self.load_constants()?;
        self.branched = true;
        self.leave(jcc(condition), target)
    }

    fn leave(&mut self, code: Code, target: u64) -> Option<()> {
        self.ways.push(Way { target, from: self.templates.len(), state: self.state.clone() });
        self.templates.push(Iced::with_branch(code, 0).ok()?);
        Some(())
    }

    /// Ways to `target` meet here.
    fn meet(&mut self, target: u64) -> Option<()> {
        let here = self.templates.len() as u64;
        for way in self.ways.extract_if(.., |way| way.target == target) {
            self.templates[way.from].set_near_branch64(here);
            self.state = if self.reached { self.state.met_by(&way.state)? } else { way.state };
            self.reached = true;
        }
        Some(())
    }
}
