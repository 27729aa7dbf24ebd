//! Reading the time stamp counter: trapped in the master, so that slices can be given the same values.
//!
//! PR_SET_TSC makes `rdtsc` and `rdtscp` fault. The setting survives exec, and fork as well: a process that the app
//! starts runs natively without us, so the setting is taken back around the call that starts it. What the app itself sets and
//! asks for is kept beside it ([`Tsc`]).
//!
//! `cpuid`, whose answers depend on the processor it runs on, is trapped in the same way where the CPU can do that. That
//! setting is undone by exec.

use machine::{Gpr, Memory, cpuid};
use syscall_replay::{NondeterministicKind, NondeterministicRecord};
use tracee::{Remote, Stop, Stopped, TraceError};

use super::counter::Counter;
use crate::base::Failure;

/// The kernel describes the trap as a fault without an address.
const FROM_KERNEL: i32 = libc::SI_KERNEL;

/// What the app has set by PR_SET_TSC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TscMode {
    /// Clock readings give the time.
    Readings = libc::PR_TSC_ENABLE as isize,
    /// Clock readings fault.
    Faults = libc::PR_TSC_SIGSEGV as isize,
}

impl TscMode {
    /// What a process that isn't trapped has.
    fn of(process: &mut Stopped, gadget: u64) -> Result<Self, TraceError> {
        /// Below the red zone: nobody's.
        const FREE: u64 = 512;
        let at = (process.registers()?.app().rsp().wrapping_sub(FREE)) & !7;
        let Ok(before) = process.read_u64(at) else { return Ok(Self::Readings) };
        let mut remote = Remote::new(process, gadget)?;
        remote.call(libc::SYS_prctl, [libc::PR_GET_TSC as u64, at, 0, 0, 0, 0])?;
        let answer = remote.memory().read_u64(at).unwrap_or(0) as i32;
        // It was written a moment ago.
        let _ = remote.memory().write(at, &before.to_le_bytes());
        Ok(if answer == libc::PR_TSC_SIGSEGV { Self::Faults } else { Self::Readings })
    }

    /// If a system call is PR_SET_TSC: what it sets, or that it can't be set.
    fn set_by(number: u64, args: &[u64; 6]) -> Option<Result<Self, i64>> {
        if number as i64 != libc::SYS_prctl || args[0] as i32 != libc::PR_SET_TSC {
            return None;
        }
        Some(match args[1] as i32 {
            libc::PR_TSC_ENABLE => Ok(Self::Readings),
            libc::PR_TSC_SIGSEGV => Ok(Self::Faults),
            _ => Err(-i64::from(libc::EINVAL)),
        })
    }

    /// If a system call that has succeeded is PR_GET_TSC: gives this for what the kernel said.
    fn tell(self, number: u64, args: &[u64; 6], memory: &mut impl Memory) {
        if number as i64 == libc::SYS_prctl && args[0] as i32 == libc::PR_GET_TSC {
            // The kernel has just written there.
            let _ = memory.write(args[1], &(self as i32).to_le_bytes());
        }
    }
}

/// Whether a thread's clock readings and `cpuid` trap, and what the app has set for readings. The kernel keeps both for each thread, and hands them on to what
/// it starts.
#[derive(Clone)]
pub struct Tsc {
    /// They don't trap at the moment.
    is_open: bool,
    mode: TscMode,
}

impl Tsc {
    /// Of a program that we have not touched.
    pub fn new() -> Self {
        Self { is_open: true, mode: TscMode::Readings }
    }

    /// Whether the app reads without traps.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Whether the app wants readings to fault.
    pub fn faults(&self) -> bool {
        self.mode == TscMode::Faults
    }

    /// Asks the kernel for the app's setting: nothing is trapped yet.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn see(&mut self, process: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
        self.mode = TscMode::of(process, gadget)?;
        Ok(())
    }

    /// Another program was loaded: exec ends the trapping of `cpuid`.
    pub fn new_image(&mut self) {
        self.is_open = true;
    }

    /// From now on they trap, where the process can make system calls for us.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn close(&mut self, process: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
        if self.is_open {
            trap(process, gadget, true, self.mode)?;
            self.is_open = false;
        }
        Ok(())
    }

    /// They are again what the app wants them to be.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn open(&mut self, process: &mut Stopped, gadget: u64) -> Result<(), TraceError> {
        if !self.is_open {
            trap(process, gadget, false, self.mode)?;
            self.is_open = true;
        }
        Ok(())
    }

    /// The same at a system call's entry, see [`open_at_entry`].
    ///
    /// # Errors
    /// If the process was killed.
    pub fn open_at_entry(&mut self, process: Stopped) -> Result<Stopped, TraceError> {
        self.is_open = true;
        open_at_entry(process, self.mode)
    }

    /// The result of a call by which the app makes its own setting: the kernel's is ours.
    pub fn answer(&self, number: u64, args: &[u64; 6]) -> Option<i64> {
        TscMode::set_by(number, args).map(|mode| mode.err().unwrap_or(0))
    }

    /// A call has succeeded: it may have been such a one, or one that asks for the setting.
    pub fn after_call(&mut self, number: u64, args: &[u64; 6], memory: &mut impl Memory) {
        self.mode.tell(number, args, memory);
        if let Some(Ok(mode)) = TscMode::set_by(number, args) {
            self.mode = mode;
        }
    }

    /// If this signal is a trapped reading or `cpuid`, and not what the app wants: executes it for the process and gives which it is and what it read.
    /// `counter`: the process's.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn read(
        &self,
        process: &mut Stopped,
        signal: &libc::siginfo_t,
        counter: &Counter,
    ) -> Result<Option<(ClockInstruction, NondeterministicRecord)>, Failure> {
        read(process, signal, self.mode, counter)
    }
}

/// The calls that make clock readings and `cpuid` trap (true), or leave the app what it wants. The last one may fail, see
/// [`machine::cpuid::can_trap`].
fn settings(trapped: bool, mode: TscMode) -> [(i64, [u64; 2]); 2] {
    let clock = if trapped { TscMode::Faults } else { mode } as i32;
    [
        (libc::SYS_prctl, [libc::PR_SET_TSC as u64, clock as u64]),
        (libc::SYS_arch_prctl, [cpuid::ARCH_SET_CPUID, u64::from(!trapped)]),
    ]
}

/// Makes clock readings and `cpuid` trap (true) or not, where the process can make system calls for us.
fn trap(process: &mut Stopped, gadget: u64, trapped: bool, mode: TscMode) -> Result<(), TraceError> {
    let mut remote = Remote::new(process, gadget)?;
    for (number, [a, b]) in settings(trapped, mode) {
        remote.call(number, [a, b, 0, 0, 0, 0])?;
    }
    Ok(())
}

/// Allows clock readings and `cpuid` at a system call's entry, where no other call can be made: this call is turned into the
/// ones that we need, and the `syscall` instruction is then executed again as it was.
fn open_at_entry(mut process: Stopped, mode: TscMode) -> Result<Stopped, TraceError> {
    let before = process.registers()?;
    let mut again = before;
    again.set(Gpr::Rax, before.syscall_number() as u64);
    again.rewind_syscall();
    for (number, [a, b]) in settings(false, mode) {
        let mut turned = process.registers()?;
        turned.set_syscall_number(number);
        turned.set(Gpr::Rdi, a);
        turned.set(Gpr::Rsi, b);
        process.set_registers(&turned)?;
        process = process.resume_until(|stop| matches!(stop, Stop::SyscallExit { .. }))?;
        process.set_registers(&again)?;
        if number == libc::SYS_prctl {
            process = process.resume_until(|stop| matches!(stop, Stop::SyscallEntry { .. }))?;
        }
    }
    Ok(process)
}

fn read(
    process: &mut Stopped,
    signal: &libc::siginfo_t,
    mode: TscMode,
    counter: &Counter,
) -> Result<Option<(ClockInstruction, NondeterministicRecord)>, Failure> {
    if signal.si_signo != libc::SIGSEGV || signal.si_code != FROM_KERNEL {
        return Ok(None);
    }
    let mut registers = process.registers()?;
    let pc = registers.rip();
    let mut code = [0; 3];
    let len = process.read_prefix(pc, &mut code);
    let Some(instruction) = ClockInstruction::decode(&code[..len]) else { return Ok(None) };
    if mode == TscMode::Faults && instruction != ClockInstruction::Cpuid {
        return Ok(None);
    }
    let mut app = registers.app();
    let record = execute(instruction, pc, &app, counter);
    record.apply(&mut app);
    app.rip = pc + instruction.len();
    registers.set_app(&app);
    process.set_registers(&registers)?;
    Ok(Some((instruction, record)))
}

fn execute(
    instruction: ClockInstruction,
    pc: u64,
    app: &machine::Registers,
    counter: &Counter,
) -> NondeterministicRecord {
    if instruction == ClockInstruction::Cpuid {
        let [rax, rbx, rcx, rdx] = cpuid::ask(app.get(Gpr::Rax) as u32, app.get(Gpr::Rcx) as u32).map(u64::from);
        return NondeterministicRecord { kind: NondeterministicKind::Cpuid, pc, rax, rdx, rcx, rbx };
    }
    let (ticks, processor) = counter.read();
    let kind = match instruction {
        ClockInstruction::Rdtscp => NondeterministicKind::Rdtscp,
        _ => NondeterministicKind::Rdtsc,
    };
    NondeterministicRecord { kind, pc, rax: ticks & 0xffff_ffff, rdx: ticks >> 32, rcx: u64::from(processor), rbx: 0 }
}

/// A reading of the time stamp counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockInstruction {
    /// `rdtsc`.
    Rdtsc,
    /// `rdtscp`.
    Rdtscp,
    /// `cpuid`: no clock, but it is trapped and recorded in the same way.
    Cpuid,
}

impl ClockInstruction {
    /// Whether `code` starts with one.
    pub fn decode(code: &[u8]) -> Option<Self> {
        match code {
            [0x0f, 0x31, ..] => Some(Self::Rdtsc),
            [0x0f, 0x01, 0xf9, ..] => Some(Self::Rdtscp),
            [0x0f, 0xa2, ..] => Some(Self::Cpuid),
            _ => None,
        }
    }

    /// Its length.
    pub fn len(self) -> u64 {
        match self {
            Self::Rdtsc | Self::Cpuid => 2,
            Self::Rdtscp => 3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_instructions_are_recognised() {
        assert_eq!(ClockInstruction::decode(&[0x0f, 0x31, 0x90]), Some(ClockInstruction::Rdtsc));
        assert_eq!(ClockInstruction::decode(&[0x0f, 0x01, 0xf9]), Some(ClockInstruction::Rdtscp));
        assert_eq!(ClockInstruction::decode(&[0x0f, 0x01, 0xf8]), None);
    }
}
