//! A call in which others may have the turn, and which waits for something that is written to memory: it waits first, and is made with the turn. See
//! [`syscall_replay::waiting`].

use std::os::unix::fs::FileTypeExt;

use bubble::map::BUFFER_GUARD;
use machine::{Gpr, Status};
use syscall_replay::is_restart;
use syscall_replay::threads::Length;
use syscall_replay::waiting::{OnlyWaits, Source, does_not_wait, is_result, only_waits};
use tracee::{Stopped, TraceError, UserRegisters};

use super::broken_off::Again;
use super::call::Part;
use super::thread::{At, Thread};

const ARGS: [Gpr; 6] = [Gpr::Rdi, Gpr::Rsi, Gpr::Rdx, Gpr::R10, Gpr::R8, Gpr::R9];

impl Thread {
    /// It stands at the entry of a call, in which others may have the turn if it may have to wait there. If it would get anything, it only waits first. `is_ours`: its process
    /// ends if we are killed, and so never goes on with another call's registers. `lasts`: whether a call that is short as a rule is known to last.
    ///
    /// # Errors
    /// If it was killed.
    pub(in crate::sliced::master) fn may_wait(
        &mut self,
        stopped: &mut Stopped,
        is_ours: bool,
        lasts: impl FnOnce(u64, &[u64; 6]) -> bool,
    ) -> Result<(), TraceError> {
        let (tid, length) = (self.tid(), self.length_of_call());
        if length == Length::Instant {
            return Ok(());
        }
        self.may_lose_turn_in_call(stopped)?;
        let At::InCall(call) = &mut self.at else { return Ok(()) };
        let (number, args, is_ready) = (call.pending.number, call.pending.args, call.again.is_ready);
        let made_as = match () {
            () if !is_ours => None,
            () if is_ready => does_not_wait(number, &args).map(|args| (Part::Gets, OnlyWaits { number, args })),
            () => only_waits(number, &args, BUFFER_GUARD.start, stopped, |fd| source(tid, fd))
                .map(|waits| (Part::Waits, waits)),
        };
        if let Some((part, other)) = made_as {
            call.part = Some(part);
            let mut registers = stopped.registers()?;
            set_call(&mut registers, other.number, other.args);
            stopped.set_registers(&registers)?;
        }
        if !is_ready && length == Length::Short && lasts(number, &args) {
            self.lasts();
        }
        Ok(())
    }

    /// Whether the call in which it is, and has been for a while, may be one that lasts: not if what it has waited for is there, unless somebody else
    /// has got that. What others do while it is on its way out of the kernel would come too late.
    pub(in crate::sliced) fn may_last(&self) -> bool {
        !self.call().is_some_and(|call| call.again.is_ready) || is_asleep(self.tid())
    }

    /// It stands at the exit of a call with this result. Whether the call is over: if not, it has only waited, for something that is there, and is about to make the call itself.
    ///
    /// # Errors
    /// If it was killed.
    pub(in crate::sliced::master) fn has_made_call(
        &mut self,
        stopped: &mut Stopped,
        result: i64,
    ) -> Result<bool, TraceError> {
        let At::InCall(call) = &mut self.at else { return Ok(true) };
        let Some(part) = call.part.take() else { return Ok(true) };
        let (number, again) = (call.pending.number, call.again);
        let mut registers = stopped.registers()?;
        set_call(&mut registers, number, call.pending.args);
        let is_over = match part {
            Part::Waits => is_restart(result as u64) || is_result(number, result),
            Part::Gets => result != 0,
        };
        if !is_over {
            registers.rewind_syscall();
            self.leaves_call();
            self.rewinds(number, Again { is_ready: part == Part::Waits, ..again });
        }
        stopped.set_registers(&registers)?;
        Ok(is_over)
    }
}

fn set_call(registers: &mut UserRegisters, number: u64, args: [u64; 6]) {
    registers.set_syscall_number(number as i64);
    ARGS.into_iter().zip(args).for_each(|(gpr, value)| registers.set(gpr, value));
}

/// What one of a thread's descriptors is, if that may be waited for first.
fn source(tid: i32, fd: u64) -> Option<Source> {
    let kind = std::fs::metadata(format!("/proc/{tid}/fd/{}", fd as u32)).ok()?.file_type();
    match () {
        () if kind.is_fifo() => Some(Source::Pipe),
        () if kind.is_socket() => Some(Source::Socket),
        () => None,
    }
}

/// Whether a thread waits in the kernel for something that isn't there.
fn is_asleep(tid: i32) -> bool {
    Status::of(tid).is_ok_and(|status| status.field("State").is_some_and(|state| state.starts_with('S')))
}
