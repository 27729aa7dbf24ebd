//! Hardware breakpoints on execution: they stop a process before an instruction without changing a byte of its code.
//!
//! Which ones were hit the processor says in a register (DR6). A virtual machine may lose what is in it: the kernel then takes the trap for one that `int1` has raised, or for the end of a
//! single step. So it isn't asked: a breakpoint was hit if the process stands where it is set.

use machine::Memory;

use crate::TraceError;
use crate::kernel::request;
use crate::stop::Stopped;

/// Breakpoints that a process can have at a time.
pub const BREAKPOINTS: usize = 4;

/// Offset of debug register `n` in ptrace's "user area".
const fn debug_register(n: usize) -> usize {
    std::mem::offset_of!(libc::user, u_debugreg) + n * size_of::<u64>()
}

/// Which breakpoints are enabled, and their types: all zero bits mean execution.
const CONTROL: usize = 7;

/// Breakpoint `n` enabled for this process.
const fn enabled(n: usize) -> usize {
    1 << (2 * n)
}

/// `si_code` of the SIGTRAP that a hardware breakpoint sends.
const TRAP_HWBKPT: i32 = 4;
/// The instruction that raises the same trap: `int1`.
const INT1: u8 = 0xf1;

impl Stopped {
    /// Stops the process, see [`Stopped::hits_breakpoint`], before the instruction at `address`.
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

    /// Whether breakpoint `n` is one of those at which the process stands.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn stands_at(&self, n: usize) -> Result<bool, TraceError> {
        Ok(self.peek_debug(CONTROL)? & enabled(n) != 0 && self.peek_debug(n)? as u64 == self.registers()?.rip())
    }

    /// Whether the signal that the process has stopped for is one that a breakpoint has sent, whatever the kernel takes it for.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn hits_breakpoint(&self, info: &libc::siginfo_t) -> Result<bool, TraceError> {
        if info.si_signo != libc::SIGTRAP {
            return Ok(false);
        }
        match info.si_code {
            TRAP_HWBKPT => Ok(true),
            libc::TRAP_BRKPT => Ok(!self.is_behind_int1()? && self.stands_at_any()?),
            libc::TRAP_TRACE => Ok(!self.registers()?.has_trap_flag() && self.stands_at_any()?),
            _ => Ok(false),
        }
    }

    /// What a step was ended by that has begun at `from`: the trap behind it, or a breakpoint before it, although the kernel takes it for another one.
    pub(crate) fn name_trap(&self, from: u64, info: &mut libc::siginfo_t) -> Result<(), TraceError> {
        if info.si_signo != libc::SIGTRAP || ![libc::TRAP_BRKPT, libc::TRAP_TRACE].contains(&info.si_code) {
            return Ok(());
        }
        if self.registers()?.rip() == from && self.stands_at_any()? {
            info.si_code = TRAP_HWBKPT;
        } else if info.si_code == libc::TRAP_BRKPT && !self.is_behind_int1()? {
            info.si_code = libc::TRAP_TRACE;
        }
        Ok(())
    }

    fn stands_at_any(&self) -> Result<bool, TraceError> {
        for n in 0..BREAKPOINTS {
            if self.stands_at(n)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_behind_int1(&self) -> Result<bool, TraceError> {
        let mut before = [0];
        let is_read = self.read(self.registers()?.rip().wrapping_sub(1), &mut before).is_ok();
        Ok(is_read && before == [INT1])
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
