//! Threads of the app's, for a tool that wants to be told of them: each begins, or is there, before anything else of it is told.

use std::collections::BTreeSet;

use translator::abi::Cpu;

use super::app_thread::{AppThread, ThreadChange};
use super::tool::RunningTool;

/// The threads that a tool was told of.
#[derive(Default)]
pub struct ThreadsTold {
    numbers: BTreeSet<u64>,
}

impl ThreadsTold {
    /// A thread goes on, or begins, in this state. Each is told of once, before anything else of it.
    pub fn goes_on(&mut self, thread: &AppThread, is_new: bool, cpu: &Cpu, tool: &dyn RunningTool) {
        if !tool.wants_threads() {
            return;
        }
        if self.numbers.insert(thread.number) {
            tool.thread(thread, if is_new { ThreadChange::Begins(cpu) } else { ThreadChange::Present });
        }
        tool.thread(thread, ThreadChange::Turn);
    }

    /// A thread has executed its last instruction.
    pub fn ends(&mut self, thread: &AppThread, code: u64, cpu: &Cpu, tool: &dyn RunningTool) {
        if tool.wants_threads() {
            self.numbers.remove(&thread.number);
            tool.thread(thread, ThreadChange::Ends { code: code as i32, cpu });
        }
    }

    /// The tool begins to look: it is told of all threads once more.
    pub fn forget(&mut self) {
        self.numbers.clear();
    }
}
