//! The end of a slice whose time is over: where the block at hand ends, so that no tool sees it.
//!
//! ```text
//!   interrupt ──► mov ── add ── cmp ── jne ──► cut
//!                  run to a breakpoint │ step
//! ```

use bubble::behind::Behind;
use bubble::end::{End, SharedContents};
use machine::{Gpr, Memory};
use tracee::{Stopped, is_step};

use super::instructions::allow_breakpoint_again;
use super::process::Process;
use super::thread::{Awaited, Thread};
use crate::base::Failure;
use crate::report::Boundary;
use crate::sliced::boundaries::{
    CutPoint, Next, Reached, Then, behind_call, call_end, cut_at_block, cut_here, decide, entry_registers, traps_itself,
};
use crate::sliced::slices::Recording;

/// Bytes of code that are looked at for the end of a block: nearly all are shorter.
const AHEAD: usize = 256;

/// What has come of that.
pub(super) enum Cutting {
    /// What comes next.
    Next(Next),
    /// The block's last instruction has raised this signal instead of being executed, or has a breakpoint.
    Raised {
        /// The master.
        stopped: Stopped,
        /// The signal.
        info: libc::siginfo_t,
        /// Where the instruction is.
        branch: u64,
    },
}

/// The slice, whose time is over, ends where the block at hand does.
pub(super) fn cut_soon(process: &mut Process, thread: &mut Thread, mut stopped: Stopped) -> Result<Cutting, Failure> {
    let rip = stopped.registers()?.rip();
    let next = match point(process, &stopped)? {
        // The slice ends at the call.
        CutPoint::AtCall => Next::Resume(stopped, 0),
        // The next slice will have what others have stored, and this one's end would not be its start. At a call that isn't compared.
        CutPoint::Here { .. } | CutPoint::At(..) if process.lacks_news() => Next::Resume(stopped, 0),
        CutPoint::Here { starts_block: true } => cut_at_block(stopped, Boundary::Timeout)?,
        CutPoint::Here { starts_block: false } => cut_here(stopped, Boundary::Timeout, Then::Fork)?,
        CutPoint::At(address, reached) if address == rip => return cut_behind(process, thread, stopped, reached),
        CutPoint::At(address, reached) => {
            let waited = thread.lets_wait(&mut stopped, address, Awaited::Cut(reached))?;
            process.send_again(waited);
            Next::Resume(stopped, 0)
        }
        CutPoint::Later => Next::AskAgain(stopped),
    };
    Ok(Cutting::Next(next))
}

/// The same, from where the master has run to for that.
pub(super) fn cut_behind(
    process: &mut Process,
    thread: &mut Thread,
    mut stopped: Stopped,
    reached: Reached,
) -> Result<Cutting, Failure> {
    match reached {
        Reached::Start => {
            // What has a breakpoint of its own is to stop there again.
            allow_breakpoint_again(&mut stopped)?;
            return Ok(Cutting::Next(cut_at_block(stopped, Boundary::Timeout)?));
        }
        Reached::Unknown => return cut_soon(process, thread, stopped),
        Reached::Branch => {}
    }
    allow_breakpoint_again(&mut stopped)?;
    let branch = stopped.registers()?.rip();
    let (mut stopped, info) = stopped.try_step()?;
    // Who single-steps itself gets that trap as its own.
    if !is_step(&info) || traps_itself(&stopped)? {
        return Ok(Cutting::Raised { stopped, info, branch });
    }
    process.takes_back_raised(thread, &mut stopped, info.si_signo)?;
    // It may have called the vsyscall page.
    let next = match point(process, &stopped)? {
        CutPoint::Later => Next::AskAgain(stopped),
        _ => cut_at_block(stopped, Boundary::Timeout)?,
    };
    Ok(Cutting::Next(next))
}

/// If no instruction was executed since the last recorded call, the slice can end at that call instead of behind it:
/// no search and no proof is then needed. The kernel's note of the call tells: it is gone after the first instruction
/// that is interrupted.
pub(super) fn end_at_last_call(
    slice: &mut Recording,
    stopped: &Stopped,
) -> Result<Option<(Box<End>, Behind)>, Failure> {
    let registers = stopped.registers()?;
    let Some(call) = slice.take_call() else { return Ok(None) };
    if registers.syscall_number() < 0 {
        return Ok(None);
    }
    slice.take_back();
    let entry = entry_registers(&registers, call.number);
    let behind = behind_call(&entry, registers.get(Gpr::Rax), call.room);
    Ok(Some((call_end(&entry, SharedContents::default()), behind)))
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
