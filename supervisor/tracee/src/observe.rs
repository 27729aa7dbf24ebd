//! What a wait status means.

use crate::TraceError;
use crate::kernel::Report;
use crate::kernel::request;
use crate::stop::{Change, Running, Stop, Stopped};

/// `si_code` of the notification that ends a single step into a signal handler: the kernel puts the signal's
/// number there, and the x86 has no trap of its own with that code.
const HANDLER_NOTIFICATION: i32 = libc::SIGTRAP;
/// The kernel's name for the calls of 64-bit code.
const AUDIT_ARCH_X86_64: u32 = 0xc000_003e;
const SYSCALL_STOP: i32 = libc::SIGTRAP | 0x80;

impl Running {
    /// Turns the kernel's report on this process into its new state.
    ///
    /// # Errors
    /// If the process was killed while it was asked for details; its end will be reported.
    ///
    /// # Panics
    /// If the report is on another process.
    pub fn observe(self, report: Report) -> Result<Change, TraceError> {
        assert_eq!(self.pid(), report.pid(), "a report is observed by the process that it is about");
        if let Some(exit) = report.exit() {
            return Ok(Change::Ended(exit));
        }
        let stopped = Stopped::from_report(self);
        let stop = classify(&stopped, report.status())?;
        Ok(Change::Stopped(stopped, stop))
    }
}

fn classify(stopped: &Stopped, status: i32) -> Result<Stop, TraceError> {
    let signal = libc::WSTOPSIG(status);
    let event = status >> 16;
    if event == libc::PTRACE_EVENT_STOP {
        return Ok(if signal == libc::SIGTRAP { Stop::Interrupted } else { Stop::Group(signal) });
    }
    if event == libc::PTRACE_EVENT_EXEC {
        return Ok(Stop::Exec);
    }
    if [libc::PTRACE_EVENT_FORK, libc::PTRACE_EVENT_VFORK, libc::PTRACE_EVENT_CLONE].contains(&event) {
        let child = Running::born_traced(stopped.event_message()? as i32);
        return Ok(Stop::Started { child, waits: event == libc::PTRACE_EVENT_VFORK });
    }
    if event != 0 {
        return Ok(Stop::Other(event));
    }
    if signal == SYSCALL_STOP {
        return syscall_stop(stopped);
    }
    let info = stopped.signal_info()?;
    if signal == libc::SIGTRAP && info.si_code == HANDLER_NOTIFICATION {
        return Ok(Stop::HandlerEntered);
    }
    Ok(Stop::Signal(info))
}

impl Stopped {
    /// What the kernel adds to an event.
    fn event_message(&self) -> Result<u64, TraceError> {
        let mut message: libc::c_ulong = 0;
        let data = &raw mut message as usize;
        // SAFETY: `data` points to the word that this request fills.
        unsafe { request(libc::PTRACE_GETEVENTMSG, self.pid(), 0, data, "read its event")? };
        Ok(message)
    }
}

fn syscall_stop(stopped: &Stopped) -> Result<Stop, TraceError> {
    // SAFETY: the structure is plain numbers and a union of them, for which zero is a value.
    let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    let size = size_of_val(&info);
    let data = &raw mut info as usize;
    // SAFETY: `data` points to `size` bytes that this request may fill.
    unsafe { request(libc::PTRACE_GET_SYSCALL_INFO, stopped.pid(), size, data, "read its system call")? };
    // SAFETY: `op` says which member of the union the kernel filled.
    unsafe {
        Ok(match info.op {
            libc::PTRACE_SYSCALL_INFO_ENTRY if info.arch != AUDIT_ARCH_X86_64 => Stop::ForeignSyscall,
            libc::PTRACE_SYSCALL_INFO_ENTRY => Stop::SyscallEntry { number: info.u.entry.nr, args: info.u.entry.args },
            libc::PTRACE_SYSCALL_INFO_EXIT => Stop::SyscallExit { result: info.u.exit.sval },
            _ => Stop::Other(0),
        })
    }
}
