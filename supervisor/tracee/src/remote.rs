//! System calls executed by a process under control on our behalf.
//!
//! The process is pointed at a `syscall` instruction that it has mapped anyway (the vDSO's), with the call in its
//! registers, and let go from one border of the call to the other. Its registers and signal mask are borrowed for that
//! and given back when the guard is dropped, early returns included: nothing of a remote call can stay behind in the app.
//!
//! While the guard lives all signals are blocked, so that none is delivered on the way. Two things can come anyway:
//! SIGSTOP, which is held back and sent again at the end, unless SIGCONT has come after it; and an outstanding interrupt,
//! which is dropped: after a remote call there is none. SIGSTOP may break a call off, which the kernel then makes again.

use machine::{Gpr, Memory, Status};

use crate::TraceError;
use crate::state::UserRegisters;
use crate::stop::Stop;
use crate::stop::{Mode, Stopped};

const ALL_SIGNALS: u64 = u64::MAX;

/// Results that no program sees: the kernel makes the call again (ERESTARTSYS to ERESTART_RESTARTBLOCK).
const RESTARTS: std::ops::RangeInclusive<i64> = -516..=-512;

/// A stopped process that executes system calls for us.
pub struct Remote<'a> {
    process: &'a mut Stopped,
    gadget: u64,
    registers: UserRegisters,
    signal_mask: u64,
    held_back: Vec<i32>,
}

impl<'a> Remote<'a> {
    /// Borrows the process. It must not stand at a system call's entry or at a signal's delivery, where going on would
    /// make that call or lose that signal. `gadget` is the address of a `syscall` instruction.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn new(process: &'a mut Stopped, gadget: u64) -> Result<Self, TraceError> {
        let registers = process.registers()?;
        let signal_mask = process.signal_mask()?;
        process.set_signal_mask(ALL_SIGNALS)?;
        Ok(Self { process, gadget, registers, signal_mask, held_back: Vec::new() })
    }

    /// The process's number.
    pub fn pid(&self) -> i32 {
        self.process.pid()
    }

    /// The process, for its memory.
    pub fn memory(&mut self) -> &mut impl Memory {
        &mut *self.process
    }

    /// Executes one system call and returns its result, an error being a negative number.
    ///
    /// # Errors
    /// If the process was killed on the way.
    pub fn call(&mut self, number: i64, args: [u64; 6]) -> Result<i64, TraceError> {
        const ARGS: [Gpr; 6] = [Gpr::Rdi, Gpr::Rsi, Gpr::Rdx, Gpr::R10, Gpr::R8, Gpr::R9];
        let mut registers = self.registers;
        registers.clear_trap_flag();
        registers.set_rip(self.gadget);
        registers.set(Gpr::Rax, number as u64);
        for (gpr, value) in ARGS.into_iter().zip(args) {
            registers.set(gpr, value);
        }
        registers.set_syscall_number(-1);
        self.process.set_registers(&registers)?;
        loop {
            if let Stop::SyscallEntry { .. } = self.step()? {
                break;
            }
        }
        loop {
            match self.step()? {
                Stop::SyscallExit { result } if !RESTARTS.contains(&result) => return Ok(result),
                _ => {}
            }
        }
    }

    /// As [`Remote::call`], an error of the call being an error.
    ///
    /// # Errors
    /// If the process was killed or the call failed.
    pub fn expect(&mut self, action: &'static str, number: i64, args: [u64; 6]) -> Result<u64, TraceError> {
        let result = self.call(number, args)?;
        if (-4095..0).contains(&result) {
            let source = std::io::Error::from_raw_os_error(-result as i32);
            return Err(TraceError::Refused { pid: self.process.pid(), action, source });
        }
        Ok(result as u64)
    }

    fn step(&mut self) -> Result<Stop, TraceError> {
        let (stopped, stop) = self.process.twin().resume_and_wait(Mode::Syscalls, 0)?;
        *self.process = stopped;
        match &stop {
            Stop::SyscallEntry { .. } | Stop::SyscallExit { .. } | Stop::Interrupted | Stop::Group(_) => {}
            Stop::Signal(info) => self.held_back.push(info.si_signo),
            other => {
                let action = "make a system call in it";
                return Err(TraceError::Unexpected { pid: self.process.pid(), action, stop: other.describe() });
            }
        }
        Ok(stop)
    }
}

impl Drop for Remote<'_> {
    fn drop(&mut self) {
        // These fail only if the process was killed: then there is nothing to give back.
        let _ = self.process.set_registers(&self.registers);
        let _ = self.process.set_signal_mask(self.signal_mask);
        // Sent again, SIGSTOP would undo a SIGCONT that has come since. One that is pending has come after it: SIGSTOP removes those before.
        let is_continued = !self.held_back.is_empty() && is_pending(self.process.pid(), libc::SIGCONT);
        for signal in self.held_back.drain(..).filter(|_| !is_continued) {
            // SAFETY: kill has no memory preconditions.
            unsafe { libc::kill(self.process.pid(), signal) };
        }
    }
}

/// Whether this signal waits for the process, or for its thread, with this number.
fn is_pending(pid: i32, signal: i32) -> bool {
    let Ok(status) = Status::of(pid) else { return false };
    ["SigPnd", "ShdPnd"].into_iter().any(|set| status.bits(set).is_some_and(|bits| bits >> (signal - 1) & 1 == 1))
}

/// Looks for the bytes of a `syscall` instruction in `start .. start + len`.
pub fn find_syscall_instruction(memory: &impl Memory, start: u64, len: usize) -> Option<u64> {
    let mut code = vec![0; len];
    let readable = memory.read_prefix(start, &mut code);
    let at = code[..readable].windows(2).position(|w| w == [0x0f, 0x05])?;
    Some(start + at as u64)
}
