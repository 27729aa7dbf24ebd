//! System calls and signals that a tool changes.

use engine::StateMut;
use machine::AppPc;
use slice_runtime::{CallChange, SignalArrival};
use syscall_replay::is_error;

use super::names::{signal_name, syscall_name};
use super::signal::Signal;

/// A system call of the app's, for [`crate::SerialTool::CHANGE_SYSCALL`].
pub struct SyscallMut<'a, 'c>(&'a mut CallChange<'c>);

impl<'a, 'c> SyscallMut<'a, 'c> {
    pub(crate) fn new(call: &'a mut CallChange<'c>) -> Self {
        Self(call)
    }

    /// Whether it is about to be made; else it was made.
    pub fn is_entry(&self) -> bool {
        !self.0.is_made
    }

    /// Its number.
    pub fn number(&self) -> u32 {
        self.0.number as u32
    }

    /// Its name: `openat`. `unknown` for a number that the table of system calls doesn't have.
    pub fn name(&self) -> &'static str {
        syscall_name(self.number())
    }

    /// Where the instruction is.
    pub fn pc(&self) -> AppPc {
        AppPc(self.0.pc)
    }

    /// The argument at `position`, from 0, whether the kernel looks at it or not.
    ///
    /// # Panics
    /// From 6 on.
    pub fn arg(&self, position: usize) -> u64 {
        self.0.args[position]
    }

    /// Makes it another call (`PIN_SetSyscallNumber`).
    ///
    /// # Panics
    /// If it was made.
    #[track_caller]
    pub fn set_number(&mut self, number: u32) {
        self.is_to_be_made("its number");
        self.0.number = number.into();
    }

    /// Makes an argument of it this (`PIN_SetSyscallArgument`, `dr_syscall_set_param`). The app's register stays what it is.
    ///
    /// # Panics
    /// If it was made; from 6 on.
    #[track_caller]
    pub fn set_arg(&mut self, position: usize, value: u64) {
        self.is_to_be_made("an argument");
        self.0.args[position] = value;
    }

    /// It isn't made, and the app gets this in its place; `-i64::from(libc::ENOSPC)` is a failure. There is no exit to be changed then.
    ///
    /// # Panics
    /// If it was made.
    #[track_caller]
    pub fn skip(&mut self, result: i64) {
        self.is_to_be_made("whether it is made");
        self.0.result = Some(result as u64);
    }

    #[track_caller]
    fn is_to_be_made(&self, what: &str) {
        assert!(self.is_entry(), "system call {} was made: {what} can be changed at its entry", self.name());
    }

    /// What it has left in rax. `None` at its entry.
    pub fn result(&self) -> Option<i64> {
        self.0.result.filter(|_| self.0.is_made).map(|result| result as i64)
    }

    /// The number of the error with which it has failed. `None` at its entry, and if it hasn't failed.
    pub fn error(&self) -> Option<i32> {
        self.result().filter(|result| is_error(*result as u64)).map(|result| -result as i32)
    }

    /// The app gets this as its result (`dr_syscall_set_result`).
    ///
    /// # Panics
    /// At its entry: [`Self::skip`].
    #[track_caller]
    pub fn set_result(&mut self, result: i64) {
        assert!(self.0.is_made, "system call {} has no result at its entry: skip gives it one", self.name());
        self.0.result = Some(result as u64);
    }

    /// Writes to the app's memory: what the call is about to read, or has written. Says how many bytes were written. [`crate::memory::read`] reads it.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> usize {
        (self.0.write)(address, bytes)
    }
}

/// A signal that has arrived for the app, or that an instruction of its own raises, for [`crate::SerialTool::CHANGE_SIGNAL`].
pub struct SignalMut<'a, 'b, 's>(&'a mut SignalArrival<'b, 's>);

impl<'a, 'b, 's> SignalMut<'a, 'b, 's> {
    pub(crate) fn new(signal: &'a mut SignalArrival<'b, 's>) -> Self {
        Self(signal)
    }

    /// Its number.
    pub fn number(&self) -> i32 {
        self.0.signal
    }

    /// Its name: `SIGALRM`. `None` for signals that are called by their numbers.
    pub fn name(&self) -> Option<&'static str> {
        signal_name(self.number())
    }

    /// Whether the instruction at hand has raised it: a signal that is swallowed comes again then, unless the instruction finds other registers or memory, or the app goes on
    /// elsewhere.
    pub fn is_fault(&self) -> bool {
        self.0.is_fault
    }

    /// Who has sent it and how, the address of a fault: see [`Signal`]. Its handler isn't known yet.
    pub fn origin(&self) -> Signal {
        Signal { number: self.0.signal, origin: self.0.origin, pc: self.0.state.ip().0, handler: 0 }
    }

    /// The app's state, where the signal meets it. It may be changed, and the app may go on elsewhere.
    pub fn state(&mut self) -> &mut StateMut<'s> {
        self.0.state
    }

    /// The app doesn't get it (`PIN_InterceptSignal`, `DR_SIGNAL_SUPPRESS`).
    pub fn swallow(&mut self) {
        self.0.is_wanted = false;
    }

    /// The app gets another one.
    ///
    /// # Panics
    /// If there is no such signal, or nobody can handle it.
    pub fn set_number(&mut self, signal: i32) {
        let is_one = (1..=64).contains(&signal) && ![libc::SIGKILL, libc::SIGSTOP].contains(&signal);
        assert!(is_one, "signal {signal} can't be delivered in place of another");
        self.0.signal = signal;
    }
}
