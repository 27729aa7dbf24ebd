//! Which parts of a routine are copied if it can't be followed in all its ways.
//!
//! The copy does what the routine does, up to a place that isn't followed: a call of a function that does more, an instruction that changes more than [`Touched`] can say, a
//! jump that its code doesn't tell. There the rest of the app's state is put aside, and the routine itself goes on.

use std::cell::RefCell;
use std::collections::HashMap;

use super::clobbers::{followed, step_at};
use super::text::Text;
use super::touched::Touched;
use crate::decode::{Instruction, Kind};

/// Instructions of a function that is copied. What is longer does more than a routine does most of the time.
const MOST: usize = 300;

/// How a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Itself: that is all that it touches.
    Itself(Touched),
    /// A copy of it.
    Copy,
    /// With all of the app's state aside.
    Aside,
}

/// What becomes of an instruction in a copy.
pub enum Act {
    /// It is copied as it is, and touches that.
    Plain(Instruction, Touched),
    /// It is a jump, or a branch if there is an instruction, to code that is copied.
    Jump(u64, Option<Instruction>),
    /// It calls a function, or goes on there (`calls` is false).
    Function {
        /// The function.
        target: u64,
        /// How.
        way: Way,
        /// Whether it comes back to what follows.
        calls: bool,
    },
    /// It ends the copy.
    End(Instruction),
    /// From here on the routine itself goes on.
    Aside,
}

/// What is known of a program's routines.
pub struct Plan<T> {
    text: T,
    ways: RefCell<HashMap<u64, Way>>,
}

impl<T: Text> Plan<T> {
    /// Nothing is known yet.
    pub fn new(text: T) -> Self {
        Self { text, ways: RefCell::default() }
    }

    /// How the function at `pc` is called.
    pub fn way(&self, pc: u64) -> Way {
        if let Some(way) = self.ways.borrow().get(&pc) {
            return *way;
        }
        let way = match followed(pc, &self.text) {
            Ok(touched) => Way::Itself(touched),
            Err(_) if self.returns(pc) => Way::Copy,
            Err(_) => Way::Aside,
        };
        self.ways.borrow_mut().insert(pc, way);
        way
    }

    /// Whether the function is short, and there is a way through it to its end on which nothing is an obstacle but what it calls.
    fn returns(&self, pc: u64) -> bool {
        let mut seen = Vec::new();
        let mut open = vec![pc];
        let mut returns = false;
        while let Some(pc) = open.pop() {
            if seen.contains(&pc) {
                continue;
            }
            if seen.len() == MOST {
                return false;
            }
            seen.push(pc);
            let Some(step) = step_at(pc, &self.text) else { continue };
            returns |= matches!(step.instruction.kind(), Kind::Return { .. });
            open.extend(step.next.into_iter().chain(step.target.filter(|_| !step.calls)));
        }
        returns
    }

    /// What becomes of the instruction at `pc`, and what follows it.
    pub fn act(&self, pc: u64) -> (Act, Option<u64>) {
        let Some(step) = step_at(pc, &self.text) else { return (Act::Aside, None) };
        let act = match (step.instruction.kind(), step.target) {
            (Kind::Plain, _) => Act::Plain(step.instruction, step.touched),
            (Kind::Jump { .. }, Some(target)) => Act::Jump(target, None),
            (Kind::Branch { .. }, Some(target)) => Act::Jump(target, Some(step.instruction)),
            (Kind::Call { .. } | Kind::CallIndirect | Kind::JumpIndirect, Some(target)) => {
                Act::Function { target, way: self.way(target), calls: step.calls }
            }
            (Kind::CountBranch { .. }, _) => return (Act::Aside, None),
            _ => Act::End(step.instruction),
        };
        (act, step.next)
    }
}
