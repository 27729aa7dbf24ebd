//! What the app has just come from where a slice begins: what tools are told of it, since the slice before has ended too early for that.

use machine::{PAGE, SignalOrigin};

/// A system call that was made.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MadeCall {
    /// Its number.
    pub number: u64,
    /// Its arguments; all 0 behind an exec, where nothing is left of what they named.
    pub args: [u64; 6],
    /// Where its instruction is; 0 behind an exec.
    pub pc: u64,
    /// Its result.
    pub result: u64,
    /// What had to be noted at its entry to know what it has written.
    pub room: u64,
}

/// What the app is behind.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Behind {
    /// 1 if it is behind a call.
    pub is_call: u64,
    /// That call.
    pub call: MadeCall,
    /// The signal whose handler it is about to execute, after the call; 0 if there is none.
    pub signal: u64,
    /// Where that signal came from.
    pub origin: SignalOrigin,
}

impl Behind {
    /// Behind a call.
    pub fn call(call: MadeCall) -> Self {
        Self { is_call: 1, call, ..Self::default() }
    }

    /// Behind an exec that has succeeded.
    pub fn exec(number: u64) -> Self {
        Self::call(MadeCall { number, ..MadeCall::default() })
    }

    /// The same, with the handler of a signal entered since.
    #[must_use]
    pub fn with_signal(self, info: &libc::siginfo_t) -> Self {
        Self { signal: info.si_signo as u64, origin: SignalOrigin::of(info), ..self }
    }

    /// What the call has mapped: the first address and the first behind; both 0 if it was no `mmap`.
    pub fn mapped(&self) -> [u64; 2] {
        const MOST_ERRORS: u64 = 4095;
        let MadeCall { number, args, result, .. } = self.call;
        let is_mapping = self.is_call != 0 && number as i64 == libc::SYS_mmap && result < MOST_ERRORS.wrapping_neg();
        if is_mapping { [result, result + args[1].next_multiple_of(PAGE)] } else { [0; 2] }
    }

    /// Whether it is behind an exec that has succeeded.
    pub fn is_exec(&self) -> bool {
        self.made().is_some_and(|call| call.pc == 0)
    }

    /// The call, if it is behind one.
    pub fn made(&self) -> Option<&MadeCall> {
        (self.is_call != 0).then_some(&self.call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_mapped_is_known_of_calls_that_map() {
        let mmap = MadeCall { number: libc::SYS_mmap as u64, args: [0, 5000, 0, 0, 0, 0], ..MadeCall::default() };
        let mapped = |call| Behind::call(call).mapped();
        assert_eq!(mapped(MadeCall { result: 0x7000, ..mmap }), [0x7000, 0x9000]);
        assert_eq!(mapped(MadeCall { result: -12_i64 as u64, ..mmap }), [0; 2]);
        assert_eq!(mapped(MadeCall { number: 1, result: 0x7000, ..mmap }), [0; 2]);
        assert_eq!(Behind::default().mapped(), [0; 2]);
    }
}
