//! The interrupt that ends a slice when its time is over, or a turn: it must neither be lost nor change what the app sees.

use machine::Gpr;
use tracee::{Mode, Stop, Stopped, TraceError};

use super::block_ends::{cut_soon, end_at_last_call};
use super::process::Process;
use super::signals::after_cutting;
use super::thread::Thread;
use crate::base::Failure;
use crate::report::Boundary;
use crate::sliced::boundaries::{Cut, Next, Then};
use crate::sliced::slices::Recording;

/// An interrupt has arrived, between two instructions.
pub(super) fn arrive(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    stopped: Stopped,
) -> Result<Next, Failure> {
    thread.is_interrupted();
    // A call that will be made again is where a due slice ends.
    if !slice.is_to_stop() || thread.is_to_call_again() || thread.awaits() {
        return Ok(Next::Resume(stopped, 0));
    }
    if process.random.is_behind(stopped.registers()?.rip()) {
        // The trap itself will be the next stop.
        return Ok(Next::AskAgain(stopped));
    }
    if !slice.is_due() && slice.is_behind_call(&stopped)? {
        // The turn can be given up there.
        return Ok(Next::Resume(stopped, 0));
    }
    if let Some((end, behind)) = end_at_last_call(slice, &stopped)? {
        let cut = Cut { kind: Boundary::Timeout, end: Some(end), then: Then::Fork, behind };
        return Ok(Next::Cut(stopped, cut));
    }
    let cutting = cut_soon(process, thread, stopped)?;
    after_cutting(process, thread, slice, cutting)
}

/// An interrupt may be on its way, or this stop may have discarded it: nobody can tell. So the call is skipped, an
/// interrupt that is certain to arrive is sent and taken, and the `syscall` instruction is executed again, with
/// registers as if nothing had happened.
pub(super) fn await_interrupt(thread: &mut Thread, mut stopped: Stopped) -> Result<Stopped, Failure> {
    let before = stopped.registers()?;
    let mut skipped = before;
    skipped.set_syscall_number(-1);
    stopped.set_registers(&skipped)?;
    while thread.awaits_interrupt() {
        let (next, stop) = stopped.resume_and_wait(Mode::Syscalls, 0)?;
        stopped = next;
        match stop {
            Stop::Interrupted | Stop::Group(_) => thread.is_interrupted(),
            Stop::SyscallExit { .. } => stopped.interrupt()?,
            other => {
                let action = "interrupt it";
                return Err(TraceError::Unexpected { pid: stopped.pid(), action, stop: other.describe() }.into());
            }
        }
    }
    let mut again = before;
    again.set(Gpr::Rax, before.syscall_number() as u64);
    again.rewind_syscall();
    stopped.set_registers(&again)?;
    Ok(stopped)
}
