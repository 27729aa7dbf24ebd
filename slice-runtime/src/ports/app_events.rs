//! What a tool is told of the kernel's side: a system call, a signal that has a handler.

use machine::{Gpr, Here, Memory, Registers, SignalOrigin};
use syscall_replay::effects::{self, Entry, Range};
use syscall_replay::table::{self, Rule};

/// A system call of the app's.
#[derive(Clone, Copy, Debug)]
pub struct SystemCall {
    /// Its number, as the app has put it into rax.
    pub number: u64,
    /// Its arguments.
    pub args: [u64; 6],
    /// Where the instruction is.
    pub pc: u64,
    /// Number of the thread that makes it.
    pub thread: u64,
    /// What the table says of it.
    pub rule: Rule,
    /// What it has left in rax. `None` at its entry.
    pub result: Option<u64>,
    pub(super) entry: Entry,
}

impl SystemCall {
    pub(crate) fn new(number: u64, args: [u64; 6], pc: u64, memory: &dyn Memory) -> Self {
        let rule = table::lookup(number, &args, memory);
        Self { number, args, pc, thread: 0, rule, result: None, entry: Entry::note(&rule, &args, memory) }
    }

    /// The same of another thread.
    pub(crate) fn by_thread(self, thread: u64) -> Self {
        Self { thread, ..self }
    }

    /// Where it has written, or may have. Nothing at its entry.
    pub fn written(&self) -> Vec<Range> {
        let Some(result) = self.result else { return Vec::new() };
        effects::written(&self.rule, &self.args, result, self.entry, &Here::new())
    }
}

/// What a signal did to the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalChange {
    /// A handler is about to begin.
    Handler {
        /// Number of the signal.
        signal: i32,
        /// Where it came from.
        origin: SignalOrigin,
        /// Where the app was: it goes on there when the handler has returned.
        pc: u64,
        /// The handler.
        handler: u64,
    },
    /// It ends the app.
    Fatal {
        /// Number of the signal.
        signal: i32,
        /// Where it came from.
        origin: SignalOrigin,
        /// Where the app is.
        pc: u64,
    },
    /// A handler has returned.
    Return {
        /// To here.
        pc: u64,
    },
}

impl SignalChange {
    /// The app has these registers at a handler's first instruction. What else is to be known lies in the frame that was written for it.
    pub fn at_handler(registers: &Registers, origin: SignalOrigin, memory: &dyn Memory) -> Self {
        // Behind the return address a ucontext: flags, link, the stack's three words, and 16 registers before the instruction pointer.
        const RIP: u64 = 8 + 40 + 16 * 8;
        let pc = memory.read_u64(registers.rsp().wrapping_add(RIP)).unwrap_or(0);
        Self::Handler { signal: registers.get(Gpr::Rdi) as i32, origin, pc, handler: registers.rip }
    }
}
