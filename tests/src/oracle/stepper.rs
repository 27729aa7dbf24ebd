//! A native run, step by step.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use libc::user_regs_struct;
use nix::errno::Errno;
use nix::sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use super::instruction::{self, Kind};
use crate::deadline::Watch;
use crate::run::{Job, Scratch};

const TRAP_FLAG: u64 = 1 << 8;

/// What was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Count {
    /// Instructions.
    pub instructions: u64,
    /// Those of each thread, by who has started it: the first is `[]`, the second that it has started `[2]`.
    pub threads: BTreeMap<Vec<u32>, u64>,
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
    let result = command.spawn().and_then(|child| {
        let watch = Watch::over(child.id());
        let counted = Stepper::new(Pid::from_raw(child.id() as i32)).and_then(Stepper::count_all);
        watch.end().map_or(counted, |over| Err(io::Error::new(io::ErrorKind::TimedOut, over)))
    });
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

/// The program's threads are children of the thread that started it. Other tests in the same process have children of other threads.
const OURS: WaitPidFlag = WaitPidFlag::__WALL.union(WaitPidFlag::__WNOTHREAD);

struct Stepper {
    process: Pid,
    memory: File,
    threads: HashMap<Pid, Thread>,
    /// Of each thread.
    instructions: HashMap<Pid, u64>,
    /// The path of each, and how many it has started. It may be known later than the thread is.
    paths: HashMap<Pid, (Vec<u32>, u32)>,
}

#[derive(Default)]
struct Thread {
    /// None while it is stopped.
    step: Option<Step>,
    inject: Option<Signal>,
    /// It has still to be stopped by ptrace itself, before its first instruction.
    is_new: bool,
    /// The step that leads out of `execve`, which executes nothing.
    leaving_exec: bool,
}

/// A step that was begun. One in a system call that waits lasts.
#[derive(Clone, Copy)]
struct Step {
    before: user_regs_struct,
    kind: Kind,
    injected: Option<Signal>,
}

impl Stepper {
    fn new(process: Pid) -> io::Result<Self> {
        match waitpid(process, Some(WaitPidFlag::__WALL))? {
            WaitStatus::Stopped(_, Signal::SIGTRAP) => {}
            other => return Err(io::Error::other(format!("expected the stop after exec, got {other:?}"))),
        }
        let options = Options::PTRACE_O_EXITKILL | Options::PTRACE_O_TRACEEXEC | Options::PTRACE_O_TRACECLONE;
        ptrace::setoptions(process, options)?;
        let threads = HashMap::from([(process, Thread::default())]);
        let paths = HashMap::from([(process, (Vec::new(), 0))]);
        let stepper = Self { process, memory: memory_of(process)?, threads, instructions: HashMap::new(), paths };
        stepper.hide_vdso()?;
        Ok(stepper)
    }

    fn count_all(mut self) -> io::Result<Count> {
        let counted = self.step(self.process).and_then(|()| self.follow());
        if counted.is_err() {
            // What is left of it must not be reported to the next run.
            let _ = kill(self.process, Signal::SIGKILL);
            while waitpid(None, Some(OURS)).is_ok() {}
        }
        counted
    }

    fn follow(&mut self) -> io::Result<Count> {
        loop {
            let report = waitpid(None, Some(OURS))?;
            let (thread, status) = match report {
                WaitStatus::Exited(thread, status) => (thread, status),
                WaitStatus::Signaled(thread, signal, _) => (thread, 128 + signal as i32),
                WaitStatus::Stopped(thread, _) | WaitStatus::PtraceEvent(thread, ..) => {
                    match self.reported(thread, report).and_then(|()| self.step(thread)) {
                        // Another thread has ended the process meanwhile; that this one ended is reported next.
                        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                        done => done?,
                    }
                    continue;
                }
                other => return Err(io::Error::other(format!("unexpected report while single-stepping: {other:?}"))),
            };
            self.ended(thread, matches!(report, WaitStatus::Signaled(..)));
            // The first thread is reported last, even if it ended long before.
            if thread == self.process {
                let path = |thread: &Pid| self.paths.get(thread).expect("who has started it was told").0.clone();
                let threads: BTreeMap<_, _> = self.instructions.iter().map(|(thread, n)| (path(thread), *n)).collect();
                return Ok(Count { instructions: self.instructions.values().sum(), threads, status });
            }
        }
    }

    /// Lets a stopped thread execute one instruction.
    fn step(&mut self, thread: Pid) -> io::Result<()> {
        let Some(state) = self.threads.get_mut(&thread) else { return Ok(ptrace::detach(thread, None)?) };
        if state.step.is_some() {
            return Ok(ptrace::step(thread, None)?); // the rest of a call that it is in
        }
        let (before, kind) = loop {
            let before = ptrace::getregs(thread)?;
            let mut bytes = [0; 15];
            let len = self.memory.read_at(&mut bytes, before.rip).unwrap_or(0);
            let kind = instruction::kind(&bytes[..len]);
            if kind != Kind::Syscall || before.rax != libc::SYS_rseq as u64 || state.inject.is_some() {
                break (before, kind);
            }
            refuse(thread, before)?;
            *self.instructions.entry(thread).or_default() += 1;
        };
        let injected = state.inject.take();
        ptrace::step(thread, injected)?;
        state.step = Some(Step { before, kind, injected });
        Ok(())
    }

    /// A thread has ended. A system call that it had begun is counted, be it `exit` or one that it waited in when another thread ended the process.
    fn ended(&mut self, thread: Pid, by_signal: bool) {
        let step = self.threads.remove(&thread).and_then(|state| state.step);
        let executed = step.is_some_and(|s| s.kind == Kind::Syscall && !(by_signal && s.injected.is_some()));
        self.has_executed(thread, executed.into());
    }

    fn has_executed(&mut self, thread: Pid, instructions: u64) {
        *self.instructions.entry(thread).or_default() += instructions;
    }

    /// A thread has started another one, or a process.
    fn has_started(&mut self, thread: Pid) -> io::Result<()> {
        let new = Pid::from_raw(ptrace::getevent(thread)? as i32);
        if (self.threads.contains_key(&new) || is_thread(self.process, new))
            && let Some((path, started)) = self.paths.get_mut(&thread)
        {
            *started += 1;
            let path = path.iter().copied().chain([*started]).collect();
            self.paths.insert(new, (path, 0));
        }
        Ok(())
    }

    /// Counts what was done before a stop.
    fn reported(&mut self, thread: Pid, report: WaitStatus) -> io::Result<()> {
        match report {
            WaitStatus::PtraceEvent(_, _, libc::PTRACE_EVENT_CLONE) => self.has_started(thread), // in the middle of the call
            WaitStatus::PtraceEvent(_, _, libc::PTRACE_EVENT_EXEC) => self.executes(thread),
            WaitStatus::Stopped(_, signal) => self.stopped(thread, signal),
            other => Err(io::Error::other(format!("unexpected stop while single-stepping: {other:?}"))),
        }
    }

    /// A new thread; or a process made by `clone`, which isn't followed.
    fn appeared(&mut self, thread: Pid) -> io::Result<()> {
        if is_thread(self.process, thread) {
            hide_from_r11(thread, ptrace::getregs(thread)?)?;
            self.threads.insert(thread, Thread { is_new: true, ..Thread::default() });
        }
        Ok(())
    }

    fn executes(&mut self, thread: Pid) -> io::Result<()> {
        if ptrace::getevent(thread)? != i64::from(thread.as_raw()) {
            return Err(io::Error::other("another thread than the first executes a program"));
        }
        self.has_executed(thread, 1);
        self.memory = memory_of(thread)?;
        self.threads.insert(thread, Thread { leaving_exec: true, ..Thread::default() });
        self.hide_vdso()
    }

    fn stopped(&mut self, thread: Pid, signal: Signal) -> io::Result<()> {
        if !self.threads.contains_key(&thread) {
            self.appeared(thread)?;
        }
        let Some(state) = self.threads.get_mut(&thread) else { return Ok(()) };
        let step = state.step.take();
        let code = match ptrace::getsiginfo(thread) {
            Ok(info) => info.si_code,
            Err(Errno::EINVAL) => return Ok(()), // a group stop: nothing ran, nothing is to be injected
            Err(error) => return Err(error.into()),
        };
        match (signal, code) {
            (Signal::SIGTRAP, libc::TRAP_TRACE | libc::TRAP_BRKPT) if std::mem::take(&mut state.leaving_exec) => {}
            (Signal::SIGTRAP, libc::TRAP_TRACE | libc::TRAP_BRKPT) => {
                if let Some(step) = step {
                    self.executed(thread, step)?;
                }
            }
            (Signal::SIGSTOP, _) if std::mem::take(&mut state.is_new) => {}
            // The kernel's own notice that it built a handler's frame: the handler's first instruction is next.
            (Signal::SIGTRAP, libc::SIGTRAP) => {}
            _ => {
                // A trap comes after its instruction; an instruction that faults hasn't been executed.
                state.inject = Some(signal);
                self.has_executed(thread, u64::from(signal == Signal::SIGTRAP && code > 0));
            }
        }
        Ok(())
    }

    fn executed(&mut self, thread: Pid, Step { before, kind, .. }: Step) -> io::Result<()> {
        let after = ptrace::getregs(thread)?;
        match kind {
            Kind::InParts if after.rip == before.rip => return Ok(()),
            Kind::PushFlags => {
                let mut low = [0; 2];
                self.memory.read_exact_at(&mut low, after.rsp)?;
                low[1] &= !((TRAP_FLAG >> 8) as u8);
                self.memory.write_all_at(&low, after.rsp)?;
            }
            Kind::MovToSs => self.has_executed(thread, 1),
            Kind::Syscall if before.rax != libc::SYS_rt_sigreturn as u64 => hide_from_r11(thread, after)?,
            _ => {}
        }
        self.has_executed(thread, 1);
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
        let stack = ptrace::getregs(self.process)?.rsp;
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

fn is_thread(process: Pid, thread: Pid) -> bool {
    Path::new(&format!("/proc/{process}/task/{thread}")).exists()
}

/// A system call that this kernel doesn't know.
fn refuse(thread: Pid, mut registers: user_regs_struct) -> io::Result<()> {
    registers.rip += 2;
    registers.rcx = registers.rip;
    registers.r11 = registers.eflags & !TRAP_FLAG;
    registers.rax = -i64::from(libc::ENOSYS) as u64;
    Ok(ptrace::setregs(thread, registers)?)
}

/// Where `syscall` has left the flags.
fn hide_from_r11(thread: Pid, mut registers: user_regs_struct) -> io::Result<()> {
    if registers.r11 & TRAP_FLAG != 0 {
        registers.r11 &= !TRAP_FLAG;
        ptrace::setregs(thread, registers)?;
    }
    Ok(())
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
