//! System calls and signals of the app's, for a tool that wants to be told of them.
//!
//! ```text
//!   enter ──► the tool: entry ──► the call is made, or replayed ──► made ──► the tool: exit
//!                └─ a slice ends at it ──► the next one begins behind it ──► behind ──┘
//! ```
//! What a call has written is found out by the table of system calls in every kind of run, from the app's own memory: so all say the same.

use bubble::behind::{Behind, MadeCall};
use machine::{Here, Memory, Registers};
use syscall_replay::effects::Entry;

use super::app_events::{SignalChange, SystemCall};
use super::tool::RunningTool;

/// What the tool was told of the app's calls.
#[derive(Default)]
pub struct Calls {
    is_on: bool,
    /// The call whose entry it was told of.
    open: Option<SystemCall>,
    /// Number of the thread whose turn it is.
    thread: u64,
}

impl Calls {
    /// For a tool that may want to know.
    pub fn new(tool: &dyn RunningTool) -> Self {
        Self { is_on: tool.wants_calls(), open: None, thread: 0 }
    }

    /// Whether the tool wants to know.
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Whether a call was entered and isn't over.
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Another thread's turn begins: puts its call in, and takes this one's out.
    pub fn exchange(&mut self, open: &mut Option<SystemCall>, thread: u64) {
        self.thread = thread;
        std::mem::swap(&mut self.open, open);
    }

    /// The app is about to make a call. One that is made again, because it was broken off and no handler has run, has been told of.
    pub fn enter(&mut self, number: u64, args: [u64; 6], pc: u64, tool: &dyn RunningTool) {
        let is_told = |open: &SystemCall| open.pc == pc && open.number == number && open.args == args;
        if self.is_on && !self.open.as_ref().is_some_and(is_told) {
            let call = SystemCall { thread: self.thread, ..SystemCall::new(number, args, pc, &Here::new()) };
            self.open = Some(call);
            tool.call(&call);
        }
    }

    /// That call is over.
    pub fn made(&mut self, result: u64, tool: &dyn RunningTool) {
        if let Some(call) = self.open.take() {
            tool.call(&SystemCall { result: Some(result), ..call });
        }
    }

    /// The slice begins behind a call.
    pub fn behind(&mut self, call: Option<&MadeCall>, tool: &dyn RunningTool) {
        let Some(&MadeCall { number, args, pc, result, room }) = call.filter(|_| self.is_on) else { return };
        let made = SystemCall::new(number, args, pc, &Here::new());
        let thread = self.thread;
        tool.call(&SystemCall { result: Some(result), entry: Entry::with_room(room), thread, ..made });
    }
}

/// A slice begins with these registers: what signals have done just before.
pub fn signals_behind(behind: &Behind, registers: &Registers, memory: &dyn Memory, tool: &dyn RunningTool) {
    if !tool.wants_signals() {
        return;
    }
    if behind.made().is_some_and(|call| call.number as i64 == libc::SYS_rt_sigreturn) {
        tool.signal(SignalChange::Return { pc: registers.rip });
    }
    if behind.signal != 0 {
        tool.signal(SignalChange::at_handler(registers, behind.origin, memory));
    }
}
