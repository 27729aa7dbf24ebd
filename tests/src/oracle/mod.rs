//! An independent count of a program's instructions: one at a time, by the CPU's trap flag.
//!
//! Nothing of superpin's is used here: no decoder, no ptrace layer, no translation. What a count means must be the same, though:
//!
//! * Every user instruction from the first after exec to the one that ends the program; not the attempts that fault.
//! * A REP instruction is one, however many iterations it makes. The CPU traps after each, with an unmoved rip; so it does in a gather or
//!   scatter whose first elements are done when another one faults.
//! * The program sees no vDSO, no rseq and unrandomised addresses, since the number of instructions depends on them.
//! * A program that it execs is counted on; children that it forks are not.
//!
//! What a program could see of being single-stepped is undone: the trap flag in the image that `pushf` writes and in r11 after
//! `syscall`. `mov ss` holds the trap back until after the next instruction, which is counted with it.

mod instruction;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use libc::user_regs_struct;
use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::run::{Job, Scratch};
use instruction::Kind;

const TRAP_FLAG: u64 = 1 << 8;

/// What was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Instructions.
    pub instructions: u64,
    /// Exit status as a shell reports it.
    pub status: i32,
}

/// Runs a job one instruction at a time. Its output goes to files, as in other runs: a C library does more for a device.
pub fn count(job: &Job, scratch: &Scratch) -> io::Result<Count> {
    let mut command = job.command(&scratch.cwd())?;
    command.stdout(File::create(scratch.beside("out"))?).stderr(File::create(scratch.beside("err"))?);
    count_command(command)
}

/// Runs a command one instruction at a time.
pub fn count_command(mut command: Command) -> io::Result<Count> {
    // A stop costs a third where both run on one CPU.
    let allowed = sched_getaffinity(Pid::from_raw(0))?;
    let mut here = CpuSet::new();
    here.set(sched_getcpu()?)?;
    sched_setaffinity(Pid::from_raw(0), &here)?;
    // SAFETY: the closure makes two system calls and allocates nothing.
    unsafe { command.pre_exec(become_traced) };
    let result = command.spawn().and_then(|child| Stepper::new(Pid::from_raw(child.id() as i32))?.count_all());
    sched_setaffinity(Pid::from_raw(0), &allowed)?;
    result
}

fn become_traced() -> io::Result<()> {
    // SAFETY: personality takes a number and changes this process alone.
    if unsafe { libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(ptrace::traceme()?)
}

struct Stepper {
    pid: Pid,
    memory: File,
    instructions: u64,
    inject: Option<Signal>,
    /// The step that leads out of `execve`, which executes nothing.
    leaving_exec: bool,
}

impl Stepper {
    fn new(pid: Pid) -> io::Result<Self> {
        match waitpid(pid, Some(WaitPidFlag::__WALL))? {
            WaitStatus::Stopped(_, Signal::SIGTRAP) => {}
            other => return Err(io::Error::other(format!("expected the stop after exec, got {other:?}"))),
        }
        ptrace::setoptions(pid, Options::PTRACE_O_EXITKILL | Options::PTRACE_O_TRACEEXEC)?;
        let stepper = Self { pid, memory: memory_of(pid)?, instructions: 0, inject: None, leaving_exec: false };
        stepper.hide_vdso()?;
        Ok(stepper)
    }

    fn count_all(mut self) -> io::Result<Count> {
        loop {
            let before = ptrace::getregs(self.pid)?;
            let mut bytes = [0; 15];
            let len = self.memory.read_at(&mut bytes, before.rip).unwrap_or(0);
            let kind = instruction::kind(&bytes[..len]);
            if kind == Kind::Syscall && before.rax == libc::SYS_rseq as u64 && self.inject.is_none() {
                self.refuse(before)?;
                continue;
            }
            let injected = self.inject.take();
            ptrace::step(self.pid, injected)?;
            if let Some(status) = self.after_step(before, kind, injected)? {
                return Ok(Count { instructions: self.instructions, status });
            }
        }
    }

    /// Counts what the step did; gives the exit status if it was the last.
    fn after_step(
        &mut self,
        before: user_regs_struct,
        kind: Kind,
        injected: Option<Signal>,
    ) -> io::Result<Option<i32>> {
        match waitpid(self.pid, Some(WaitPidFlag::__WALL))? {
            WaitStatus::Exited(_, status) => {
                self.instructions += 1;
                return Ok(Some(status));
            }
            WaitStatus::Signaled(_, signal, _) => {
                self.instructions += u64::from(injected.is_none());
                return Ok(Some(128 + signal as i32));
            }
            WaitStatus::PtraceEvent(_, _, libc::PTRACE_EVENT_EXEC) => {
                self.instructions += 1;
                self.memory = memory_of(self.pid)?;
                self.hide_vdso()?;
                self.leaving_exec = true;
            }
            WaitStatus::Stopped(_, signal) => self.stopped(before, kind, signal)?,
            other => return Err(io::Error::other(format!("unexpected stop while single-stepping: {other:?}"))),
        }
        Ok(None)
    }

    fn stopped(&mut self, before: user_regs_struct, kind: Kind, signal: Signal) -> io::Result<()> {
        let code = match ptrace::getsiginfo(self.pid) {
            Ok(info) => info.si_code,
            Err(Errno::EINVAL) => return Ok(()), // a group stop: nothing ran, nothing is to be injected
            Err(error) => return Err(error.into()),
        };
        match (signal, code) {
            (Signal::SIGTRAP, libc::TRAP_TRACE | libc::TRAP_BRKPT) if std::mem::take(&mut self.leaving_exec) => {}
            (Signal::SIGTRAP, libc::TRAP_TRACE | libc::TRAP_BRKPT) => self.executed(before, kind)?,
            // The kernel's own notice that it built a handler's frame: the handler's first instruction is next.
            (Signal::SIGTRAP, libc::SIGTRAP) => {}
            _ => {
                // A trap comes after its instruction; an instruction that faults hasn't been executed.
                self.instructions += u64::from(signal == Signal::SIGTRAP && code > 0);
                self.inject = Some(signal);
            }
        }
        Ok(())
    }

    fn executed(&mut self, before: user_regs_struct, kind: Kind) -> io::Result<()> {
        let mut after = ptrace::getregs(self.pid)?;
        match kind {
            Kind::InParts if after.rip == before.rip => return Ok(()),
            Kind::PushFlags => {
                let mut low = [0; 2];
                self.memory.read_exact_at(&mut low, after.rsp)?;
                low[1] &= !((TRAP_FLAG >> 8) as u8);
                self.memory.write_all_at(&low, after.rsp)?;
            }
            Kind::MovToSs => self.instructions += 1,
            Kind::Syscall if before.rax != libc::SYS_rt_sigreturn as u64 && after.r11 & TRAP_FLAG != 0 => {
                after.r11 &= !TRAP_FLAG;
                ptrace::setregs(self.pid, after)?;
            }
            _ => {}
        }
        self.instructions += 1;
        Ok(())
    }

    /// A system call that this kernel doesn't know.
    fn refuse(&mut self, mut registers: user_regs_struct) -> io::Result<()> {
        registers.rip += 2;
        registers.rcx = registers.rip;
        registers.r11 = registers.eflags & !TRAP_FLAG;
        registers.rax = -i64::from(libc::ENOSYS) as u64;
        ptrace::setregs(self.pid, registers)?;
        self.instructions += 1;
        Ok(())
    }

    /// Takes the vDSO out of the auxiliary vector of a program that was just started.
    fn hide_vdso(&self) -> io::Result<()> {
        const AT_IGNORE: u64 = 1;
        let word = |at: u64| -> io::Result<u64> {
            let mut bytes = [0; 8];
            self.memory.read_exact_at(&mut bytes, at)?;
            Ok(u64::from_le_bytes(bytes))
        };
        let stack = ptrace::getregs(self.pid)?.rsp;
        let mut at = stack + 8 * (word(stack)? + 2); // over argc, the arguments and their null
        while word(at)? != 0 {
            at += 8;
        }
        at += 8;
        while word(at)? != libc::AT_NULL {
            if word(at)? == libc::AT_SYSINFO_EHDR {
                self.memory.write_all_at(&AT_IGNORE.to_le_bytes(), at)?;
            }
            at += 16;
        }
        Ok(())
    }
}

fn memory_of(pid: Pid) -> io::Result<File> {
    File::options().read(true).write(true).open(format!("/proc/{pid}/mem"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest;

    fn instructions(guest: &str, rounds: u64) -> u64 {
        let counted = count(&guest::named(guest).job(rounds), &Scratch::new().unwrap()).unwrap();
        assert_eq!(counted.status, 0);
        counted.instructions
    }

    /// `exact.S` says in its head how many instructions it executes.
    #[test]
    fn a_program_whose_count_is_known() {
        assert_eq!(instructions("exact", 0), EXACT);
    }

    const EXACT: u64 = 100 * 3 + 25;

    #[test]
    fn equal_runs_give_equal_counts() {
        assert_eq!(instructions("loops", 1), instructions("loops", 1));
    }
}
