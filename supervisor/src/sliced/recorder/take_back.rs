//! A stop of an armed master: it is taken back from the recorder, and what has stopped it is told as if it had never been there.
//!
//! | where it stands | what is done |
//! |---|---|
//! | in the app's code | nothing |
//! | in the midst of a patched instruction's jump, where another instruction begins (SIGILL) | nothing: it is executed now |
//! | at an instruction that isn't patched (SIGSYS) | it goes back to before that |
//! | at either, or where what the call reads can't be read, but an interrupt came before the signal | it goes on to the signal |
//! | at the recorder's own stop before a call | it goes back to before the patched instruction |
//! | in the recorder, where what the call reads can't be read, or there is no memory for the record | it goes back to before the patched instruction |
//! | there, behind the call | it looks as if the patched instruction had made the call, and the run fails: there is no record of it |
//! | in a stub, before or behind what follows a reading | it stands at the same place in the app's code |
//! | in the recorder or on the way to it | it goes on to one of the recorder's stops, before the call or behind it |
//! | behind a call that was broken off | it looks as if the patched instruction had made that call |

use bubble::map::RECORDER;
use machine::Gpr;
use syscall_replay::is_restart;
use tracee::{Stop, Stopped, TraceError, UserRegisters};

use super::shared::Shared;
use crate::app::PendingSignals;
use crate::base::Failure;
use crate::sliced::recorder::code::{
    AFTER, CODE_END, FLAGS, Labels, R10, R11, RBX, RCX, RDI, RDX, RESULT, RSI, RSP, STACK_END, in_master,
};
use crate::sliced::recorder::patching::Sites;

/// `si_code` of the SIGSYS that Syscall User Dispatch raises.
const SYS_USER_DISPATCH: i32 = 2;

/// What the master came to.
pub enum Came {
    /// A stop as any other.
    Stopped,
    /// The control process makes the call at hand, or the app executes what was patched.
    ToCall,
    /// The same, but the `syscall` instruction was executed already, and has overwritten two registers.
    IntoCall(u64),
    /// A call was broken off, and will be made again unless a handler runs.
    OutOfCall(u64),
    /// A call was made that can't be recorded.
    WithoutRecord,
}

/// An armed master that has stopped.
pub(super) struct ArmedStop<'a> {
    /// The thread.
    pub(super) tid: i32,
    pub(super) labels: &'a Labels,
    pub(super) shared: &'a Shared,
    pub(super) sites: &'a Sites,
}

impl ArmedStop<'_> {
    /// Whether it was stopped between what causes a signal of ours and that signal: the kernel takes such stops before it delivers signals.
    /// With SIGSYS, the registers are then those of a call that was made, which it was not; SIGILL comes in the midst of a patched instruction's jump,
    /// the other two where what the call reads can't be read.
    pub(super) fn awaits_signal(&self, stopped: &Stopped, stop: &Stop) -> Result<bool, Failure> {
        const SYS: u64 = 1 << (libc::SIGSYS - 1);
        const ILL: u64 = 1 << (libc::SIGILL - 1);
        const FAULTS: u64 = 1 << (libc::SIGSEGV - 1) | 1 << (libc::SIGBUS - 1);
        let registers = stopped.registers()?;
        let at = registers.rip().wrapping_sub(RECORDER.start);
        let is_probing = (self.labels.probes..self.labels.probed).contains(&at);
        let is_mid_patch = self.sites.mid_patch(registers.rip()).is_some();
        let causes = [(registers.syscall_number() >= 0, SYS), (is_mid_patch, ILL), (is_probing, FAULTS)];
        let awaited = causes.into_iter().filter(|(is, _)| *is).fold(0, |all, (_, signals)| all | signals);
        if !matches!(stop, Stop::Interrupted | Stop::Group(_)) || awaited == 0 {
            return Ok(false);
        }
        let pending = PendingSignals::of(self.tid)
            .ok_or_else(|| Failure::Unsupported("/proc/PID/status doesn't tell pending signals".into()))?;
        Ok(pending.of_thread() & awaited != 0)
    }

    /// The master's registers become the app's.
    pub(super) fn bring_back(&self, mut stopped: Stopped, stop: &Stop) -> Result<(Stopped, Came), Failure> {
        let mut registers = stopped.registers()?;
        let at = registers.rip().wrapping_sub(RECORDER.start);
        if let Some(app) = self.sites.behind_reading(registers.rip()) {
            registers.set_rip(app);
            stopped.set_registers(&registers)?;
            return Ok((stopped, Came::Stopped));
        }
        match stop {
            Stop::Signal(info) if info.si_signo == libc::SIGSYS && info.si_code == SYS_USER_DISPATCH => {
                let number = registers.syscall_number() as u64;
                registers.rewind_syscall();
                stopped.set_registers(&registers)?;
                return Ok((stopped, Came::IntoCall(number)));
            }
            Stop::Signal(info) if is_undefined(info) && self.sites.mid_patch(registers.rip()).is_some() => {
                return Ok((stopped, Came::ToCall));
            }
            Stop::Signal(info) if info.si_signo == libc::SIGTRAP && at == self.labels.bail_stop => {
                self.to_site(&mut stopped, at)?;
                return Ok((stopped, Came::ToCall));
            }
            Stop::Signal(info) if is_fault(info) && at < CODE_END => {
                let Some(place) = self.labels.turn(at) else {
                    self.as_if_called(&mut registers);
                    registers.set(Gpr::Rax, self.shared.get(RESULT));
                    stopped.set_registers(&registers)?;
                    return Ok((stopped, Came::WithoutRecord));
                };
                // The app has passed an address at which there is nothing, as the kernel will tell it. Or a page of the log can't be had, as
                // the kernel will tell the control process.
                registers.set_rip(in_master(place));
                registers.set(Gpr::Rsp, in_master(STACK_END));
                stopped.set_registers(&registers)?;
                let mut stopped = stopped.run_to_trap()?;
                self.to_site(&mut stopped, self.labels.bail_stop)?;
                return Ok((stopped, Came::ToCall));
            }
            _ if at >= CODE_END && !self.sites.is_on_the_way(registers.rip()) => return Ok((stopped, Came::Stopped)),
            _ => {}
        }
        if at == self.labels.called && registers.syscall_number() >= 0 && is_restart(registers.get(Gpr::Rax)) {
            let number = registers.syscall_number() as u64;
            self.as_if_called(&mut registers);
            stopped.set_registers(&registers)?;
            return Ok((stopped, Came::OutOfCall(number)));
        }
        let mut stopped = self.run_to_stop(stopped, registers)?;
        if let Stop::Signal(info) = stop {
            stopped.set_signal_info(info)?;
        }
        Ok((stopped, Came::Stopped))
    }

    /// The registers behind the recorder's call become those behind the app's.
    fn as_if_called(&self, registers: &mut UserRegisters) {
        let shared = self.shared;
        let mut app = registers.app();
        (app.rip, app.rflags) = (shared.get(AFTER), shared.get(FLAGS));
        // The call may have been made with another timeout, or of a copy.
        let pairs = [(Gpr::Rcx, AFTER), (Gpr::R11, FLAGS), (Gpr::Rsp, RSP), (Gpr::Rbx, RBX)];
        let saved = pairs.into_iter().chain([(Gpr::Rdi, RDI), (Gpr::Rsi, RSI), (Gpr::Rdx, RDX), (Gpr::R10, R10)]);
        saved.for_each(|(register, place)| app.set(register, shared.get(place)));
        registers.set_app(&app);
    }

    /// Lets the master go on from anywhere in the recorder to one of its stops, and from there to the site.
    fn run_to_stop(&self, mut stopped: Stopped, mut registers: UserRegisters) -> Result<Stopped, Failure> {
        let at = registers.rip().wrapping_sub(RECORDER.start);
        if let Some(place) = self.labels.turn(at) {
            // It has looked at our request to stop already, and may wait in the call, or fault, if it goes on. The stack pointer may be the app's again.
            registers.set_rip(in_master(place));
            registers.set(Gpr::Rsp, in_master(STACK_END));
            // A call of the recorder's own that was broken off isn't made again.
            registers.set_syscall_number(-1);
            stopped.set_registers(&registers)?;
        }
        self.shared.set_stop(true);
        let ran = stopped.run_to_trap();
        self.shared.set_stop(false);
        let mut stopped = ran?;
        let at = stopped.registers()?.rip().wrapping_sub(RECORDER.start);
        self.to_site(&mut stopped, at)?;
        Ok(stopped)
    }

    /// From one of the recorder's stops to the site.
    fn to_site(&self, stopped: &mut Stopped, at: u64) -> Result<(), Failure> {
        let mut registers = stopped.registers()?;
        let after = self.shared.get(AFTER);
        if at == self.labels.bail_stop {
            debug_assert_eq!(
                [registers.get(Gpr::Rcx), registers.get(Gpr::R11)],
                [RCX, R11].map(|at| self.shared.get(at))
            );
            registers.set_rip(self.sites.start_of(after));
        } else if at == self.labels.done_stop || at == self.labels.reading_stop {
            registers.set_rip(after);
        } else {
            let stop = format!("stopped at {:#x}", registers.rip());
            return Err(TraceError::Unexpected { pid: self.tid, action: "take it back", stop }.into());
        }
        Ok(stopped.set_registers(&registers)?)
    }
}

/// Whether an access to memory has failed.
fn is_fault(info: &libc::siginfo_t) -> bool {
    [libc::SIGSEGV, libc::SIGBUS].contains(&info.si_signo) && info.si_code > 0
}

/// Whether there was no instruction; not if somebody has sent the signal.
fn is_undefined(info: &libc::siginfo_t) -> bool {
    info.si_signo == libc::SIGILL && info.si_code > 0
}
