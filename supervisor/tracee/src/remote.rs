//! System calls executed by a process under control on our behalf.
//!
//! The process is pointed at a `syscall` instruction that it has mapped anyway (the vDSO's), with the call in its
//! registers, and let go from one border of the call to the other. Its registers and signal mask are borrowed for that
//! and given back when the guard is dropped, early returns included: nothing of a remote call can stay behind in the app.
//!
//! While the guard lives all signals are blocked, so that none is delivered on the way. Two things can come anyway:
//! SIGSTOP, which is held back and sent again at the end, unless SIGCONT has come after it; and an outstanding interrupt,
//! which is dropped: after a remote call there is none. SIGSTOP may break a call off, which the kernel then makes again.

use std::arch::global_asm;
use std::ops::Range;

use machine::{Gpr, Memory, PAGE, Status};

use crate::TraceError;
use crate::state::UserRegisters;
use crate::stop::Stop;
use crate::stop::{Mode, Stopped};

const ALL_SIGNALS: u64 = u64::MAX;

/// Results that no program sees: the kernel makes the call again (ERESTARTSYS to ERESTART_RESTARTBLOCK).
const RESTARTS: std::ops::RangeInclusive<i64> = -516..=-512;

// rbx: calls, each a number and six arguments; rbp: how many. It comes to its end with rbp = 0, or with what a call has failed with in rax.
global_asm!(
    ".pushsection .rodata.superpin_calls, \"a\", @progbits",
    "superpin_calls:",
    "2:",
    "test rbp, rbp",
    "jz 3f",
    "mov rax, [rbx]",
    "mov rdi, [rbx + 8]",
    "mov rsi, [rbx + 16]",
    "mov rdx, [rbx + 24]",
    "mov r10, [rbx + 32]",
    "mov r8, [rbx + 40]",
    "mov r9, [rbx + 48]",
    "syscall",
    "cmp rax, -4095",
    "jae 3f",
    "add rbx, 56",
    "dec rbp",
    "jmp 2b",
    "3:",
    "int3",
    "superpin_calls_end:",
    ".popsection",
);

fn calls_code() -> &'static [u8] {
    unsafe extern "C" {
        static superpin_calls: u8;
        static superpin_calls_end: u8;
    }
    let (start, end) = (&raw const superpin_calls, &raw const superpin_calls_end);
    // SAFETY: what lies between them is constant.
    unsafe { std::slice::from_raw_parts(start, end as usize - start as usize) }
}

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

    /// Executes many system calls at the price of a few: by code in `room`, which has to be a whole number of pages that nothing lies in but inaccessible
    /// memory, as in the end. Of what doesn't fit in there the rest follows.
    ///
    /// # Errors
    /// If the process was killed or one of the calls failed, after which no other is made.
    pub fn expect_all(
        &mut self,
        action: &'static str,
        room: Range<u64>,
        calls: &[(i64, [u64; 6])],
    ) -> Result<(), TraceError> {
        const CALL: usize = 7 * size_of::<u64>();
        let code = calls_code();
        let table = room.start + code.len().next_multiple_of(CALL) as u64;
        let needed = table - room.start + (calls.len() * CALL) as u64;
        let len = needed.next_multiple_of(PAGE).min(room.end - room.start);
        let map = |protection: i32, kind: i32| {
            let flags = kind | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
            [room.start, len, protection as u64, flags as u64, u64::MAX, 0]
        };
        let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
        if self.call(libc::SYS_mmap, map(all, 0))? != room.start as i64 {
            // The process's limits may allow no more.
            return calls.iter().try_for_each(|(number, args)| self.expect(action, *number, *args).map(drop));
        }
        let mut failed = None;
        for calls in calls.chunks(((room.start + len - table) as usize / CALL).max(1)) {
            let words = calls.iter().flat_map(|(number, args)| [*number as u64].into_iter().chain(*args));
            let bytes: Vec<u8> = words.flat_map(u64::to_le_bytes).collect();
            let pid = self.process.pid();
            for (at, bytes) in [(room.start, code), (table, &bytes)] {
                self.process.write(at, bytes).map_err(|source| TraceError::Memory { pid, source })?;
            }
            let mut registers = self.registers;
            registers.clear_trap_flag();
            registers.set_rip(room.start);
            registers.set(Gpr::Rbx, table);
            registers.set(Gpr::Rbp, calls.len() as u64);
            registers.set_syscall_number(-1);
            self.process.set_registers(&registers)?;
            *self.process = self.process.twin().run_to_trap()?;
            let registers = self.process.registers()?;
            if registers.get(Gpr::Rbp) != 0 {
                failed = Some(registers.get(Gpr::Rax));
                break;
            }
        }
        self.expect(action, libc::SYS_mmap, map(libc::PROT_NONE, libc::MAP_NORESERVE))?;
        match failed {
            None => Ok(()),
            Some(result) => {
                let source = std::io::Error::from_raw_os_error((result as i64).wrapping_neg() as i32);
                Err(TraceError::Refused { pid: self.process.pid(), action, source })
            }
        }
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
