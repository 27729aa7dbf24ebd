//! The interrupt that ends a slice when its time is over: it must neither be lost nor change what the app sees.

use bubble::shared::{End, SharedContents};
use machine::{Gpr, Memory};
use tracee::{Mode, Stop, Stopped, TraceError};

use super::master::Master;
use crate::base::Failure;
use crate::report::Boundary;
use crate::sliced::boundaries::{Cut, CutPoint, Next, Then, call_end, cut_here, decide, entry_registers};
use crate::sliced::instructions::BEHIND_STRING;
use crate::sliced::slices::Recording;

/// The longest instruction there is.
const MAX_INSTRUCTION: usize = 15;

impl Master {
    /// The call will be entered again, unless a signal comes first. To the app it has been made then, and broken off:
    /// its `syscall` instruction has already overwritten rcx and r11.
    pub(in crate::sliced) fn rewind(&mut self, number: u64) {
        self.interrupted.get_or_insert(number);
        self.is_rewound = true;
    }

    /// An interrupt has arrived, between two instructions.
    pub(in crate::sliced) fn arrive(&mut self, mut stopped: Stopped, slice: &mut Recording) -> Result<Next, Failure> {
        self.interrupt_sent = false;
        // A call that will be made again is where a due slice ends.
        if !self.is_due || self.interrupted.is_some() || self.awaits_breakpoint {
            return Ok(Next::Resume(stopped, 0));
        }
        if self.random.traps.is_behind(stopped.registers()?.rip()) {
            // The trap itself will be the next stop.
            return Ok(Next::AskAgain(stopped));
        }
        if let Some(end) = self.end_at_last_call(&stopped, slice)? {
            let cut = Cut { kind: Boundary::Timeout, end: Some(end), then: Then::Fork };
            return Ok(Next::Cut(stopped, cut));
        }
        match point(&stopped)? {
            // The slice ends at the call.
            CutPoint::AtCall => Ok(Next::Resume(stopped, 0)),
            CutPoint::Here => cut_here(stopped, Boundary::Timeout, Then::Fork),
            CutPoint::At(address) => {
                stopped.set_breakpoint(BEHIND_STRING, address)?;
                self.awaits_breakpoint = true;
                Ok(Next::Resume(stopped, 0))
            }
            CutPoint::Later => Ok(Next::AskAgain(stopped)),
        }
    }

    /// If no instruction was executed since the last recorded call, the slice can end at that call instead of behind it:
    /// no search and no proof is then needed. The kernel's note of the call tells: it is gone after the first instruction
    /// that is interrupted.
    pub(in crate::sliced) fn end_at_last_call(
        &mut self,
        stopped: &Stopped,
        slice: &mut Recording,
    ) -> Result<Option<Box<End>>, Failure> {
        let registers = stopped.registers()?;
        let Some(number) = self.last_recorded.take() else { return Ok(None) };
        if registers.syscall_number() < 0 {
            return Ok(None);
        }
        slice.take_back();
        Ok(Some(call_end(&entry_registers(&registers, number), SharedContents::default())))
    }

    /// An interrupt may be on its way, or this stop may have discarded it: nobody can tell. So the call is skipped, an
    /// interrupt that is certain to arrive is sent and taken, and the `syscall` instruction is executed again, with
    /// registers as if nothing had happened.
    pub(in crate::sliced) fn await_interrupt(&mut self, mut stopped: Stopped) -> Result<Stopped, Failure> {
        let before = stopped.registers()?;
        let mut skipped = before;
        skipped.set_syscall_number(-1);
        stopped.set_registers(&skipped)?;
        while self.interrupt_sent {
            let (next, stop) = stopped.resume_and_wait(Mode::Syscalls, 0)?;
            stopped = next;
            match stop {
                Stop::Interrupted | Stop::Group(_) => self.interrupt_sent = false,
                Stop::SyscallExit { .. } => stopped.interrupt()?,
                other => {
                    let action = "interrupt it";
                    return Err(TraceError::Unexpected { pid: self.pid, action, stop: other.describe() }.into());
                }
            }
        }
        let mut again = before;
        again.set(Gpr::Rax, before.syscall_number() as u64);
        again.rewind_syscall();
        stopped.set_registers(&again)?;
        Ok(stopped)
    }

    /// To be called before the master goes on: an interrupt that the stop at hand has discarded is sent again.
    ///
    /// # Errors
    /// If the master was killed.
    pub fn renew_interrupt(&self, stopped: &Stopped) -> Result<(), TraceError> {
        if self.interrupt_sent && !self.is_in_call() { stopped.interrupt() } else { Ok(()) }
    }
}

/// Where to cut around the instruction at hand.
pub(in crate::sliced) fn point(stopped: &Stopped) -> Result<CutPoint, Failure> {
    let rip = stopped.registers()?.rip();
    let mut code = [0; MAX_INSTRUCTION];
    let len = stopped.read_prefix(rip, &mut code);
    Ok(decide::cut_point(rip, &code[..len]))
}
