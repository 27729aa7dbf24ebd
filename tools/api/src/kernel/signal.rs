//! Signals that have handlers, or end the app.

use machine::{AppPc, SignalOrigin};

use super::names::signal_name;

/// What [`crate::Tool::ON_SIGNAL`] is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalEvent {
    /// The app's handler for a signal is about to begin.
    Handler(Signal),
    /// A signal ends the app: what was executed is all. Of one that nobody can handle (`SIGKILL`), or that superpin doesn't see, only [`crate::Out::killed_by`] tells.
    Fatal(Signal),
    /// A handler has returned by `rt_sigreturn`, to here. One that leaves by `longjmp` never does.
    Return(AppPc),
}

/// A signal that is delivered to a handler, or ends the app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signal {
    pub(crate) number: i32,
    pub(crate) origin: SignalOrigin,
    pub(crate) pc: u64,
    pub(crate) handler: u64,
}

impl Signal {
    /// Its number.
    pub fn number(&self) -> i32 {
        self.number
    }

    /// Its name: `SIGALRM`. `None` for signals that are called by their numbers.
    pub fn name(&self) -> Option<&'static str> {
        signal_name(self.number)
    }

    /// The first instruction of its handler; 0 of one that ends the app.
    pub fn handler(&self) -> AppPc {
        AppPc(self.handler)
    }

    /// Where the app was: the instruction that is executed next when the handler has returned. Of a fault, the one that has raised it; of a system call that is made again, the call. Of a signal that ends the app in
    /// a call, the instruction behind it.
    pub fn pc(&self) -> AppPc {
        AppPc(self.pc)
    }

    /// Who has sent it, and how: `si_code` of its `siginfo_t`.
    pub fn code(&self) -> i32 {
        self.origin.code as i32
    }

    /// The number of the process that has sent it, or that has changed (`SIGCHLD`). `None` if the kernel has raised it.
    pub fn sender(&self) -> Option<i32> {
        let is_sent = [libc::SI_USER, libc::SI_QUEUE, libc::SI_TKILL].contains(&self.code());
        (is_sent || self.number == libc::SIGCHLD && self.code() > 0).then_some(self.origin.value as i32)
    }

    /// The address that a fault is about. `None` if it is none, or was sent by somebody.
    pub fn address(&self) -> Option<u64> {
        let is_fault = [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP].contains(&self.number);
        (is_fault && self.code() > 0).then_some(self.origin.value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_sent_a_signal_is_known_by_its_code() {
        let of = |number, code: i32, value| Signal {
            number,
            origin: SignalOrigin { code: code.into(), value },
            pc: 1,
            handler: 2,
        };
        let told = |signal: Signal| (signal.sender(), signal.address());
        assert_eq!(told(of(libc::SIGUSR1, libc::SI_TKILL, 3 << 32 | 77)), (Some(77), None));
        assert_eq!(told(of(libc::SIGCHLD, libc::CLD_EXITED, 78)), (Some(78), None));
        assert_eq!(told(of(libc::SIGSEGV, 1, 0xdead_0000_0000)), (None, Some(0xdead_0000_0000)));
        assert_eq!(told(of(libc::SIGSEGV, libc::SI_USER, 79)), (Some(79), None));
        assert_eq!(told(of(libc::SIGALRM, libc::SI_KERNEL, 0)), (None, None));
        assert_eq!(of(libc::SIGALRM, 0, 0).name(), Some("SIGALRM"));
    }
}
