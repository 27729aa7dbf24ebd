//! Processes under control and the ways from one state to the next.

use machine::Memory;
use machine::flags::TF;

use crate::TraceError;
use crate::kernel::request;
use crate::kernel::wait_for_stop;
use crate::stop::{Change, Follows, Mode, OPTIONS, Running, Stop, Stopped};

/// Sends a thread a signal that it had stopped for: by [`libc::SI_QUEUE`], unless it has no room for that. Then the kernel tells nothing of it but its number.
pub fn send_again(process: i32, thread: i32, info: &libc::siginfo_t) {
    let mut again = *info;
    again.si_code = libc::SI_QUEUE;
    let (signal, again) = (info.si_signo, std::ptr::from_ref(&again));
    // SAFETY: the information is valid. The thread hasn't been reaped.
    let sent = unsafe {
        libc::syscall(libc::SYS_rt_tgsigqueueinfo, process, thread, signal, again) == 0
            || libc::syscall(libc::SYS_tgkill, process, thread, signal) == 0
    };
    if !sent {
        // SAFETY: as above. Such a one needs no room.
        unsafe { libc::kill(process, signal) };
    }
}

const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

impl Running {
    /// Takes a child under control, and what it starts as well if `new_processes` says so. It keeps running.
    pub(crate) fn seize(pid: i32, new_processes: Follows) -> Result<Self, TraceError> {
        let options = OPTIONS | new_processes.options();
        // SAFETY: `data` is a set of options.
        unsafe { request(libc::PTRACE_SEIZE, pid, 0, options as usize, "trace it")? };
        Ok(Self::new(pid))
    }

    /// Asks for an [`Stop::Interrupted`] as soon as possible. If the process comes to another stop by itself first, that
    /// discards the request.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn interrupt(&self) -> Result<(), TraceError> {
        // SAFETY: this request has no data.
        unsafe { request(libc::PTRACE_INTERRUPT, self.pid(), 0, 0, "interrupt it")? };
        Ok(())
    }

    /// Waits for the next stop of this process alone. For the short waits inside one operation; what may take long goes
    /// through [`crate::next_report`]. The end of the process is left for that one, too.
    ///
    /// # Errors
    /// If the process has ended.
    pub fn wait(self) -> Result<(Stopped, Stop), TraceError> {
        let pid = self.pid();
        let report = wait_for_stop(pid).map_err(|e| TraceError::from_io(pid, "wait for it", e))?;
        match self.observe(report)? {
            Change::Stopped(stopped, stop) => Ok((stopped, stop)),
            Change::Ended(_) => Err(TraceError::Gone { pid, action: "wait for it" }),
        }
    }
}

impl Stopped {
    /// Makes the next stop a [`Stop::Interrupted`], before another instruction of the app's is executed. (Any other stop
    /// that comes first discards an interrupt, as it does one that was sent while the process ran.)
    ///
    /// # Errors
    /// If the process was killed.
    pub fn interrupt(&self) -> Result<(), TraceError> {
        // SAFETY: this request has no data.
        unsafe { request(libc::PTRACE_INTERRUPT, self.pid(), 0, 0, "interrupt it")? };
        Ok(())
    }

    /// Goes on. `signal` is delivered if the process stopped at [`Stop::Signal`], 0 drops it.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn resume(self, mode: Mode, signal: i32) -> Result<Running, TraceError> {
        let request = match mode {
            Mode::Free => libc::PTRACE_CONT,
            Mode::Syscalls => libc::PTRACE_SYSCALL,
        };
        self.restart(request, signal, "let it go on")
    }

    /// Leaves a process that was stopped by a stopping signal as it is, until something happens to it.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn stay_stopped(self) -> Result<Running, TraceError> {
        self.restart(libc::PTRACE_LISTEN, 0, "leave it stopped")
    }

    /// Delivers the signal at which the process stopped and waits until its handler is about to execute its first
    /// instruction ([`Stop::HandlerEntered`]). If no handler runs, whatever happens instead is returned.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn enter_handler(self, signal: i32) -> Result<(Stopped, Stop), TraceError> {
        let traps_itself = self.registers()?.has_trap_flag();
        let (mut stopped, stop) = self.restart(libc::PTRACE_SINGLESTEP, signal, "deliver a signal")?.wait()?;
        if !traps_itself {
            stopped.take_back_step(matches!(stop, Stop::HandlerEntered))?;
        }
        Ok((stopped, stop))
    }

    /// Where a `popf` is next, the kernel takes the trap flag, by which it steps, for the app's own, and leaves it in the handler's frame (or,
    /// if no handler runs yet, in the registers).
    fn take_back_step(&mut self, in_frame: bool) -> Result<(), TraceError> {
        // A return address, the head of the ucontext, and the seventeen registers before the flags.
        const FLAGS_IN_FRAME: u64 = 8 + 40 + 17 * 8;
        let mut registers = self.registers()?;
        if !in_frame {
            if registers.has_trap_flag() {
                registers.clear_trap_flag();
                self.set_registers(&registers)?;
            }
            return Ok(());
        }
        let place = registers.app().rsp() + FLAGS_IN_FRAME;
        let flags = self.read_u64(place).unwrap_or(0);
        if flags & TF != 0 {
            let written = self.write(place, &(flags & !TF).to_le_bytes());
            written.map_err(|source| TraceError::Memory { pid: self.pid(), source })?;
        }
        Ok(())
    }

    /// Executes one instruction, which must be no system call and no transfer to a handler. Signals wait meanwhile; an
    /// interrupt that was on its way is lost.
    ///
    /// # Errors
    /// If the process was killed, or the instruction faults.
    pub fn step(self) -> Result<Stopped, TraceError> {
        self.until_trap(libc::PTRACE_SINGLESTEP, "step it")
    }

    /// Goes on to a breakpoint instruction that it is about to execute. Signals wait meanwhile; an interrupt that was on its way is
    /// lost.
    ///
    /// # Errors
    /// If the process was killed, or faults.
    pub fn run_to_trap(self) -> Result<Stopped, TraceError> {
        self.until_trap(libc::PTRACE_CONT, "let it run to a trap")
    }

    /// Goes on into a system call, whose instruction is next. Signals wait meanwhile; an interrupt that was on its way is lost.
    ///
    /// # Errors
    /// If the process was killed, or that isn't the next instruction.
    pub fn run_into_call(self) -> Result<Stopped, TraceError> {
        self.until(libc::PTRACE_SYSCALL, u64::MAX, "let it make a call", |stop| {
            matches!(stop, Stop::SyscallEntry { .. })
        })
    }

    /// Executes one instruction, unless that raises a signal, or stops at a breakpoint: see [`crate::is_step`]. Other signals wait meanwhile; an interrupt that was on its way is
    /// lost.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn try_step(mut self) -> Result<(Stopped, libc::siginfo_t), TraceError> {
        // One that is blocked when an instruction raises it kills.
        const RAISED: u64 = bit(libc::SIGTRAP)
            | bit(libc::SIGSEGV)
            | bit(libc::SIGBUS)
            | bit(libc::SIGILL)
            | bit(libc::SIGFPE)
            | bit(libc::SIGSYS);
        let (mask, mut is_to_stop) = (self.signal_mask()?, false);
        let from = self.registers()?.rip();
        self.set_signal_mask(mask | !RAISED)?;
        let mut info = loop {
            let (stopped, stop) = self.restart(libc::PTRACE_SINGLESTEP, 0, "step it")?.wait()?;
            self = stopped;
            match stop {
                // It can't be blocked.
                Stop::Signal(info) if info.si_signo == libc::SIGSTOP => is_to_stop = true,
                Stop::Signal(info) => break info,
                Stop::Group(_) => is_to_stop = true,
                Stop::Interrupted => {}
                stop => {
                    return Err(TraceError::Unexpected { pid: self.pid(), action: "step it", stop: stop.describe() });
                }
            }
        };
        self.name_trap(from, &mut info)?;
        self.set_signal_mask(mask)?;
        self.stop_again(is_to_stop);
        Ok((self, info))
    }

    /// A stopping signal was kept from the process.
    fn stop_again(&self, is_to_stop: bool) {
        if is_to_stop {
            // SAFETY: kill has no memory preconditions; the process hasn't been reaped.
            unsafe { libc::kill(self.pid(), libc::SIGSTOP) };
        }
    }

    fn until_trap(self, how: libc::c_uint, action: &'static str) -> Result<Stopped, TraceError> {
        const ALL_BUT_TRAPS: u64 = !(1 << (libc::SIGTRAP - 1));
        self.until(
            how,
            ALL_BUT_TRAPS,
            action,
            |stop| matches!(stop, Stop::Signal(info) if info.si_signo == libc::SIGTRAP),
        )
    }

    /// It had stopped for this signal, and has made calls for us since, by which a signal is lost: it stops for it again before it executes anything. `process` is its.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn stop_again_for(self, process: i32, info: &libc::siginfo_t) -> Result<Stopped, TraceError> {
        let signal = info.si_signo;
        send_again(process, self.pid(), info);
        let mut stopped = self.until(
            libc::PTRACE_CONT,
            !bit(signal),
            "have it stop for its signal again",
            |stop| matches!(stop, Stop::Signal(again) if again.si_signo == signal),
        )?;
        stopped.set_signal_info(info)?;
        Ok(stopped)
    }

    /// Goes on to the stop that is wanted, without these signals.
    fn until(
        mut self,
        how: libc::c_uint,
        blocked: u64,
        action: &'static str,
        is_wanted: impl Fn(&Stop) -> bool,
    ) -> Result<Stopped, TraceError> {
        let mask = self.signal_mask()?;
        self.set_signal_mask(mask | blocked)?;
        let mut is_to_stop = false;
        loop {
            let (stopped, stop) = self.restart(how, 0, action)?.wait()?;
            self = stopped;
            match stop {
                stop if is_wanted(&stop) => break,
                // It can't be blocked.
                Stop::Signal(info) if info.si_signo == libc::SIGSTOP => is_to_stop = true,
                Stop::Interrupted => {}
                stop => return Err(TraceError::Unexpected { pid: self.pid(), action, stop: stop.describe() }),
            }
        }
        self.set_signal_mask(mask)?;
        self.stop_again(is_to_stop);
        Ok(self)
    }

    /// Ends control. The process goes on by itself.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn detach(self, signal: i32) -> Result<(), TraceError> {
        // SAFETY: `data` is a signal number.
        unsafe { request(libc::PTRACE_DETACH, self.pid(), 0, signal as usize, "let it go")? };
        Ok(())
    }

    /// Goes on until the next stop and waits for it.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn resume_and_wait(self, mode: Mode, signal: i32) -> Result<(Stopped, Stop), TraceError> {
        self.resume(mode, signal)?.wait()
    }

    /// Goes on, and on, until it comes to a stop that is wanted. Signals on the way are dropped.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn resume_until(mut self, wanted: impl Fn(&Stop) -> bool) -> Result<Self, TraceError> {
        loop {
            let (stopped, stop) = self.resume_and_wait(Mode::Syscalls, 0)?;
            self = stopped;
            if wanted(&stop) {
                return Ok(self);
            }
        }
    }

    /// After [`Stop::Exec`]: goes on to the end of the exec system call, before the new program's first instruction.
    ///
    /// # Errors
    /// If the process was killed or stops elsewhere.
    pub fn finish_exec(self) -> Result<Stopped, TraceError> {
        let pid = self.pid();
        match self.resume_and_wait(Mode::Syscalls, 0)? {
            (stopped, Stop::SyscallExit { .. }) => Ok(stopped),
            (_, stop) => Err(TraceError::Unexpected { pid, action: "finish its exec", stop: stop.describe() }),
        }
    }

    fn restart(self, how: libc::c_uint, signal: i32, action: &'static str) -> Result<Running, TraceError> {
        // SAFETY: for all of these requests `data` is a signal number.
        unsafe { request(how, self.pid(), 0, signal as usize, action)? };
        Ok(Running::new(self.pid()))
    }

    /// A second handle on the same stop, for [`crate::Remote`], which lets a borrowed process go on and brings it back.
    pub(crate) fn twin(&self) -> Stopped {
        Stopped::from_report(Running::born_traced(self.pid()))
    }
}
