//! What the tool is told of calls and signals, besides when a call begins and when it is over.

use std::sync::atomic::Ordering;

use machine::{Here, SignalOrigin};
use translator::abi::Cpu;

use super::host::{SYSCALL_LEN, SerialHost};
use crate::ports::SignalChange;
use crate::serial::calls::AppCall;

impl SerialHost {
    /// The app is about to make a call. False if a signal has come first, and the tool is to be told of that before it.
    pub(super) fn enters(&mut self, call: &AppCall, cpu: &Cpu) -> bool {
        if !self.calls.is_on() {
            return true;
        }
        if self.signals.arrivals.flag().load(Ordering::Acquire) != 0 {
            return false;
        }
        let pc = cpu.registers.rip.wrapping_sub(SYSCALL_LEN);
        self.calls.enter(call.number, call.args, pc, self.tool.as_ref());
        true
    }

    /// A call was made. One that a deadly signal has broken off is never over.
    pub(super) fn tell_of_result(&mut self, result: u64, interrupted: bool) {
        let waiting = self.signals.arrivals.flag().load(Ordering::Acquire) as i32;
        if !(interrupted && waiting != 0 && self.signals.kills(waiting)) {
            self.calls.made(result, self.tool.as_ref());
        }
    }

    /// A handler is about to begin.
    pub(super) fn tell_of_handler(&self, info: &libc::siginfo_t, cpu: &Cpu) {
        if self.tool.wants_signals() {
            let origin = SignalOrigin::of(info);
            self.tool.signal(SignalChange::at_handler(&cpu.registers, origin, &Here::new()));
        }
    }

    pub(super) fn tell_of_signal(&self, what: SignalChange) {
        if self.tool.wants_signals() {
            self.tool.signal(what);
        }
    }
}
