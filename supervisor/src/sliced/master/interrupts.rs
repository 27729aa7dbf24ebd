//! The interrupt that ends a slice when its time is over: it must neither be lost nor change what the app sees.

use bubble::shared::{End, SharedContents};
use machine::{Gpr, Memory};
use tracee::{Mode, Stop, Stopped, TraceError, is_step};

use super::instructions::allow_breakpoint_again;
use super::process::Process;
use super::signals::signal;
use super::thread::{Awaited, Thread};
use crate::base::Failure;
use crate::report::Boundary;
use crate::sliced::boundaries::{
    Cut, CutPoint, Next, Reached, Then, call_end, cut_at_block, cut_here, decide, entry_registers,
};
use crate::sliced::slices::Recording;

/// Bytes of code that are looked at for the end of a block: nearly all are shorter.
const AHEAD: usize = 256;

/// An interrupt has arrived, between two instructions.
pub(super) fn arrive(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    stopped: Stopped,
) -> Result<Next, Failure> {
    thread.is_interrupted();
    // A call that will be made again is where a due slice ends.
    if !slice.is_due() || thread.is_to_call_again() || thread.awaits() {
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
    cut_soon(process, thread, slice, stopped)
}

/// The slice, whose time is over, ends where the block at hand does.
fn cut_soon(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    mut stopped: Stopped,
) -> Result<Next, Failure> {
    let rip = stopped.registers()?.rip();
    match point(process, &stopped)? {
        // The slice ends at the call.
        CutPoint::AtCall => Ok(Next::Resume(stopped, 0)),
        // The next slice will have what others have stored, and this one's end would not be its start. At a call that isn't compared.
        CutPoint::Here { .. } | CutPoint::At(..) if process.lacks_news() => Ok(Next::Resume(stopped, 0)),
        CutPoint::Here { starts_block: true } => cut_at_block(stopped, Boundary::Timeout),
        CutPoint::Here { starts_block: false } => cut_here(stopped, Boundary::Timeout, Then::Fork),
        CutPoint::At(address, reached) if address == rip => cut_behind(process, thread, slice, stopped, reached),
        CutPoint::At(address, reached) => {
            let waited = thread.lets_wait(&mut stopped, address, Awaited::Cut(reached))?;
            process.send_again(waited);
            Ok(Next::Resume(stopped, 0))
        }
        CutPoint::Later => Ok(Next::AskAgain(stopped)),
    }
}

/// The same, from where the master has run to for that.
pub(super) fn cut_behind(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    mut stopped: Stopped,
    reached: Reached,
) -> Result<Next, Failure> {
    match reached {
        Reached::Start => {
            // What has a breakpoint of its own is to stop there again.
            allow_breakpoint_again(&mut stopped)?;
            return cut_at_block(stopped, Boundary::Timeout);
        }
        Reached::Unknown => return cut_soon(process, thread, slice, stopped),
        Reached::Branch => {}
    }
    allow_breakpoint_again(&mut stopped)?;
    let branch = stopped.registers()?.rip();
    let (stopped, info) = stopped.try_step()?;
    if !is_step(&info) {
        return match signal(process, thread, slice, stopped, info)? {
            // It was made for the master, as a call of the vsyscall page.
            Next::Resume(stopped, 0) => Ok(Next::AskAgain(stopped)),
            Next::Resume(mut stopped, signal) => {
                thread.lets_wait(&mut stopped, branch, Awaited::Cut(Reached::Branch))?;
                Ok(Next::Resume(stopped, signal))
            }
            next => Ok(next),
        };
    }
    // It may have called the vsyscall page.
    match point(process, &stopped)? {
        CutPoint::Later => Ok(Next::AskAgain(stopped)),
        _ => cut_at_block(stopped, Boundary::Timeout),
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

/// Where to cut from the instruction at hand on.
fn point(process: &Process, stopped: &Stopped) -> Result<CutPoint, Failure> {
    let rip = stopped.registers()?.rip();
    let mut code = [0; AHEAD];
    let len = stopped.read_prefix(rip, &mut code);
    Ok(decide::cut_point(rip, &code[..len], |at| process.random.stops_at(at)))
}

/// The end of the repeated string instruction at hand, if there is one.
pub(super) fn string_end(stopped: &Stopped) -> Result<Option<u64>, Failure> {
    let rip = stopped.registers()?.rip();
    let mut code = [0; isa::MAX_LEN];
    let len = stopped.read_prefix(rip, &mut code);
    Ok(decide::string_end(rip, &code[..len]))
}
