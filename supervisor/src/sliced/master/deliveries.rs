//! Signals that come at the end of a call that is recorded: the state there is exact, so that the handler's start can be recorded, too, and no slice has to end.
//!
//! What the kernel does there is little: it writes a frame, and sets registers. The frame is copied to the log as the kernel has written it.

use std::ops::Range;

use bubble::shared::SharedContents;
use machine::{LaidOut, Memory, Registers};
use syscall_replay::Delivered;
use tracee::{Stop, Stopped};

use super::handlers::{enter_handler, frame_elsewhere};
use super::process::Process;
use super::thread::Thread;
use crate::app::is_synchronous;
use crate::base::Failure;
use crate::report::Boundary;
use crate::sliced::boundaries::{Cut, Next, Then, call_end, entry_registers};
use crate::sliced::slices::Recording;

/// No frame is as large as that.
const MOST_BYTES: u64 = 64 << 10;

/// Whether the signal at hand can be recorded, being one that has a handler: the master stands behind its last recorded call, and may have further records.
///
/// # Errors
/// If the master was killed.
pub(super) fn is_behind_recorded_call(
    thread: &Thread,
    slice: &Recording,
    stopped: &Stopped,
    info: &libc::siginfo_t,
) -> Result<bool, Failure> {
    let may_go_on = !slice.is_due() && slice.left() > 0;
    let is_behind = slice.is_behind_call() && !thread.is_to_call_again();
    let comes_from_outside = !is_synchronous(info.si_signo, info.si_code);
    Ok(may_go_on && is_behind && comes_from_outside && stopped.registers()?.syscall_number() >= 0)
}

/// Delivers that signal and records it. Where that turns out to be impossible, the slice ends at the call.
///
/// # Errors
/// If the master was killed, or doesn't come to a handler.
pub(super) fn deliver_behind_call(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    stopped: Stopped,
    signal: i32,
) -> Result<Next, Failure> {
    let before = stopped.registers()?;
    let number = slice.take_call().unwrap_or(0);
    let (mut stopped, stop) = stopped.enter_handler(signal)?;
    let (stopped, is_recorded) = match stop {
        Stop::HandlerEntered => {
            let is_recorded = record(&stopped, slice)?;
            (stopped, is_recorded)
        }
        // Another comes at once.
        Stop::Signal(mut info) => {
            process.arrives(&mut stopped, &mut info)?;
            (enter_next(process, stopped, info.si_signo)?, false)
        }
        Stop::Interrupted => (enter_next(process, stopped, 0)?, false),
        _ => return Err(not_entered()),
    };
    if is_recorded {
        thread.throttle.begin();
        return Ok(Next::Resume(stopped, 0));
    }
    slice.take_back();
    let mut end = call_end(&entry_registers(&before, number), SharedContents::default());
    end.frame = frame_elsewhere(&stopped, end.registers.rsp())?;
    thread.throttle.expect();
    Ok(Next::Cut(stopped, Cut { kind: Boundary::Signal, end: Some(end), then: Then::Fork }))
}

fn enter_next(process: &mut Process, stopped: Stopped, signal: i32) -> Result<Stopped, Failure> {
    enter_handler(process, stopped, signal)?.ok_or_else(not_entered)
}

fn not_entered() -> Failure {
    Failure::Unsupported("a signal handler could not be entered".into())
}

/// Records the state at a handler's first instruction. False if that isn't possible.
fn record(stopped: &Stopped, slice: &mut Recording) -> Result<bool, Failure> {
    let registers = stopped.registers()?.app();
    let Some(place) = frame(stopped, &registers) else { return Ok(false) };
    let mut frame = vec![0; (place.end - place.start) as usize];
    if stopped.read(place.start, &mut frame).is_err() {
        return Ok(false);
    }
    let xstate = stopped.xstate()?;
    Ok(slice.log_delivery(&Delivered { registers, frame: (place.start, &frame), xstate: LaidOut::own(&xstate.bytes) }))
}

/// Where the frame lies: from the handler's stack pointer to the end of the extended state in it.
fn frame(stopped: &Stopped, registers: &Registers) -> Option<Range<u64>> {
    // A return address, the head of the ucontext, and 23 words of registers.
    const STATE: u64 = 8 + 40 + 23 * 8;
    // In the state's legacy region: a magic number, then the size of all of it.
    const MAGIC: u64 = 464;
    const MAGIC1: u64 = 0x4650_5853;
    let start = registers.rsp();
    let state = stopped.read_u64(start.checked_add(STATE)?).ok()?;
    let software = stopped.read_u64(state.checked_add(MAGIC)?).ok()?;
    let end = state + (software >> 32);
    (software & 0xffff_ffff == MAGIC1 && start < state && end - start <= MOST_BYTES).then_some(start..end)
}
