//! Hardware breakpoints on execution: they stop a process before an instruction without changing a byte of its code.

use crate::TraceError;
use crate::kernel::request;
use crate::stop::Stopped;

/// Breakpoints that a process can have at a time.
pub const BREAKPOINTS: usize = 4;

/// Offset of debug register `n` in ptrace's "user area".
const fn debug_register(n: usize) -> usize {
    std::mem::offset_of!(libc::user, u_debugreg) + n * size_of::<u64>()
}

/// Which breakpoints were hit last.
const STATUS: usize = 6;
/// Which breakpoints are enabled, and their types: all zero bits mean execution.
const CONTROL: usize = 7;

/// Breakpoint `n` enabled for this process.
const fn enabled(n: usize) -> usize {
    1 << (2 * n)
}

/// `si_code` of the SIGTRAP that a hardware breakpoint sends.
const TRAP_HWBKPT: i32 = 4;

impl Stopped {
    /// Stops the process with [`is_breakpoint`] before the instruction at `address`.
    ///
    /// # Errors
    /// If the process was killed or the address isn't one of user space.
    pub fn set_breakpoint(&mut self, n: usize, address: u64) -> Result<(), TraceError> {
        self.clear_breakpoint(n)?;
        self.poke_debug(n, address as usize)?;
        let control = self.peek_debug(CONTROL)?;
        self.poke_debug(CONTROL, control | enabled(n))
    }

    /// Takes breakpoint `n` away.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn clear_breakpoint(&mut self, n: usize) -> Result<(), TraceError> {
        let control = self.peek_debug(CONTROL)?;
        if control & enabled(n) == 0 { Ok(()) } else { self.poke_debug(CONTROL, control & !enabled(n)) }
    }

    /// Whether breakpoint `n` is one of those at which the process stopped, [`is_breakpoint`] being true.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn has_hit(&self, n: usize) -> Result<bool, TraceError> {
        Ok(self.peek_debug(STATUS)? >> n & 1 != 0)
    }

    fn peek_debug(&self, register: usize) -> Result<usize, TraceError> {
        // SAFETY: libc's ptrace gives this request a place of its own and returns what it holds.
        let value =
            unsafe { request(libc::PTRACE_PEEKUSER, self.pid(), debug_register(register), 0, "look at a breakpoint")? };
        Ok(value as usize)
    }

    fn poke_debug(&mut self, register: usize, value: usize) -> Result<(), TraceError> {
        // SAFETY: `data` is a number.
        unsafe { request(libc::PTRACE_POKEUSER, self.pid(), debug_register(register), value, "set a breakpoint")? };
        Ok(())
    }
}

/// Whether a signal is the one that is sent behind an instruction that was executed alone.
pub fn is_step(info: &libc::siginfo_t) -> bool {
    info.si_signo == libc::SIGTRAP && info.si_code == libc::TRAP_TRACE
}

/// Whether a signal is the one that a breakpoint sends.
pub fn is_breakpoint(info: &libc::siginfo_t) -> bool {
    info.si_signo == libc::SIGTRAP && info.si_code == TRAP_HWBKPT
}
