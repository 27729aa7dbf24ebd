//! The interrupt that ends a slice when its time is over: it must neither be lost nor change what the app sees.

use bubble::shared::{End, SharedContents};
use machine::{Gpr, Memory};
use tracee::{Mode, Stop, Stopped, TraceError};

use super::process::Process;
use super::thread::Thread;
use crate::base::Failure;
use crate::report::Boundary;
use crate::sliced::boundaries::{Cut, CutPoint, Next, Then, call_end, cut_here, decide, entry_registers};
use crate::sliced::slices::Recording;

/// The longest instruction there is.
const MAX_INSTRUCTION: usize = 15;

/// An interrupt has arrived, between two instructions.
pub(super) fn arrive(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    mut stopped: Stopped,
) -> Result<Next, Failure> {
    thread.is_interrupted();
    // A call that will be made again is where a due slice ends.
    if !slice.is_due() || thread.is_to_call_again() || thread.awaits_string() {
        return Ok(Next::Resume(stopped, 0));
    }
    if process.random.is_behind(stopped.registers()?.rip()) {
        // The trap itself will be the next stop.
        return Ok(Next::AskAgain(stopped));
    }
    if let Some(end) = end_at_last_call(slice, &stopped)? {
        let cut = Cut { kind: Boundary::Timeout, end: Some(end), then: Then::Fork };
        return Ok(Next::Cut(stopped, cut));
    }
    match point(&stopped)? {
        // The slice ends at the call.
        CutPoint::AtCall => Ok(Next::Resume(stopped, 0)),
        // The next slice will have what others have stored, and this one's end would not be its start. At a call that isn't compared.
        CutPoint::Here | CutPoint::At(_) if process.lacks_news() => Ok(Next::Resume(stopped, 0)),
        CutPoint::Here => cut_here(stopped, Boundary::Timeout, Then::Fork),
        CutPoint::At(address) => {
            thread.finishes_string(&mut stopped, address, None)?;
            Ok(Next::Resume(stopped, 0))
        }
        CutPoint::Later => Ok(Next::AskAgain(stopped)),
    }
}

/// If no instruction was executed since the last recorded call, the slice can end at that call instead of behind it:
/// no search and no proof is then needed. The kernel's note of the call tells: it is gone after the first instruction
/// that is interrupted.
pub(super) fn end_at_last_call(slice: &mut Recording, stopped: &Stopped) -> Result<Option<Box<End>>, Failure> {
    let registers = stopped.registers()?;
    let Some(number) = slice.take_call() else { return Ok(None) };
    if registers.syscall_number() < 0 {
        return Ok(None);
    }
    slice.take_back();
    Ok(Some(call_end(&entry_registers(&registers, number), SharedContents::default())))
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

/// Where to cut around the instruction at hand.
pub(super) fn point(stopped: &Stopped) -> Result<CutPoint, Failure> {
    let rip = stopped.registers()?.rip();
    let mut code = [0; MAX_INSTRUCTION];
    let len = stopped.read_prefix(rip, &mut code);
    Ok(decide::cut_point(rip, &code[..len]))
}
