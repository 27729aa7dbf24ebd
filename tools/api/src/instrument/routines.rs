//! Where routines of the app begin and return.

use super::arguments::Arg;
use super::at::At;
use super::instruction::Instruction;
use crate::code::BranchKind;
use crate::names::{Routine, RoutineKind};

/// Integer arguments that are passed in registers (System V, x86-64).
pub const REGISTER_ARGUMENTS: u8 = 6;

impl<'a, L: 'static> Instruction<'a, L> {
    /// The routine that begins with it. It is executed whenever the routine is entered, by a call or a jump (tail call), and whenever a loop of the routine's comes
    /// back to its first instruction. `None` for code that no symbol names: nobody knows where its routines begin.
    pub fn enters(&self) -> Option<Routine<'a>> {
        self.routine().filter(|routine| routine.address() == self.address() && routine.kind() != RoutineKind::Unnamed)
    }

    /// The routine that it returns from, if it is a return instruction: as Pin's `IPOINT_AFTER` of a routine. A routine that ends by a jump to another one, by a long
    /// jump or an exception has no such instruction for that.
    pub fn returns_from(&self) -> Option<Routine<'a>> {
        let returns = self.branch() == Some(BranchKind::Return);
        returns.then(|| self.routine()).flatten().filter(|routine| routine.kind() != RoutineKind::Unnamed)
    }

    /// Whether an argument that is the app's convention for calls exists here.
    #[track_caller]
    pub(in crate::instrument) fn check_convention(&self, at: At, arg: Arg) {
        let before = matches!(at, At::Before);
        match arg {
            Arg::Argument(number) => {
                assert!(
                    number < REGISTER_ARGUMENTS,
                    "there is no {arg:?}: the first {REGISTER_ARGUMENTS} integer arguments are passed in registers, and others on the stack: memory::stack_argument reads them in the analysis routine"
                );
                assert!(
                    before && (self.is_call() || self.enters().is_some()),
                    "Arg::{arg:?} belongs to calls At::Before a routine's first instruction (Instruction::enters), or a call; `{self}` ({:#x}) is neither",
                    self.address().0
                );
            }
            Arg::ReturnValue => assert!(
                before && self.branch() == Some(BranchKind::Return),
                "Arg::ReturnValue belongs to calls At::Before a return instruction (Instruction::returns_from); `{self}` ({:#x}) is none",
                self.address().0
            ),
            _ => {}
        }
    }
}
