//! Routines of the app's that the tool has called.

use bubble::map::BUFFER_GUARD;
use machine::{AppPc, PAGE};
use translator::abi::Cpu;

use super::fiber::{Fiber, Stack};
use crate::safe_reads;

/// Where a routine of the app's returns to that the tool has called: an address at which nobody has code.
pub const RETURNED: AppPc = AppPc(BUFFER_GUARD.start + PAGE);

/// Stacks that are kept to be used again.
const MOST_STACKS: usize = 16;

/// The routines of the app's that are underway for the tool.
#[derive(Default)]
pub struct AppCalls {
    /// The latest last. Those of several threads are told apart by the stack pointer.
    waiting: Vec<Waiting>,
    /// A routine has done its work at this instruction, with this stack pointer: it isn't asked again before that is executed.
    done: Vec<(AppPc, u64)>,
    stacks: Vec<Stack>,
}

/// A routine of the tool's waits for one of the app's.
pub struct Waiting {
    /// The tool's.
    pub fiber: Fiber,
    /// The stack pointer when it has returned.
    pub rsp: u64,
    /// The app's state where the tool's routine was called.
    pub before: Box<Cpu>,
    /// Where the tool's routine wants the app to go on.
    pub goes_to: Option<AppPc>,
    /// It is the routine at whose entry the tool's was called, and returns there to this address.
    pub original: Option<u64>,
}

impl AppCalls {
    /// Whether the app goes on at `pc` without the tool's routine there being asked.
    pub fn passes(&mut self, pc: AppPc, rsp: u64) -> bool {
        if let Some(at) = self.done.iter().rposition(|done| *done == (pc, rsp)) {
            self.done.remove(at);
            return true;
        }
        let entered = |waiting: &Waiting| (AppPc(waiting.before.registers.rip), waiting.before.registers.rsp());
        let is_underway =
            self.waiting.iter().any(|waiting| waiting.original.is_some() && entered(waiting) == (pc, rsp));
        // Else a long jump has left it, and it is called again.
        is_underway && safe_reads::read_word(rsp) == Some(RETURNED.0)
    }

    /// What waits for the routine that has just returned with this stack pointer.
    pub fn take(&mut self, rsp: u64) -> Option<Waiting> {
        let at = self.waiting.iter().rposition(|waiting| waiting.rsp == rsp)?;
        Some(self.waiting.remove(at))
    }

    /// A routine waits from now on.
    pub fn put(&mut self, waiting: Waiting) {
        // Who was left by a long jump isn't returned to. One that returns to the same place in the stack is underway if this one returns to it.
        if waiting.original != Some(RETURNED.0) {
            self.waiting.retain(|other| other.rsp != waiting.rsp);
        }
        self.waiting.push(waiting);
    }

    /// A stack for a routine.
    pub fn stack(&mut self) -> Stack {
        self.stacks.pop().unwrap_or_else(Stack::new)
    }

    /// A routine has done its work before the instruction at `pc`, where the app goes on with this stack pointer.
    pub fn pass_at(&mut self, pc: AppPc, rsp: u64) {
        self.done.retain(|(_, other)| *other != rsp);
        self.done.push((pc, rsp));
    }

    /// Whether the app's code is to return to a routine that waits.
    pub fn are_underway(&self) -> bool {
        self.waiting.iter().any(|waiting| safe_reads::read_word(waiting.rsp.wrapping_sub(8)) == Some(RETURNED.0))
    }

    /// A routine has returned.
    pub fn keep(&mut self, fiber: Fiber) {
        if self.stacks.len() < MOST_STACKS {
            self.stacks.push(fiber.into_stack());
        }
    }
}
