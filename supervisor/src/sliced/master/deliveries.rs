//! Signals that come at the end of a call that is recorded, or break it off: the state there is exact, so that the handler's start can be recorded, too, and no slice has to end.
//!
//! What the kernel does there is little: it writes a frame, and sets registers. The frame is copied to the log as the kernel has written it.
//!
//! Entering handlers, wherever the signal came: [`enter_handler`].

use std::ops::Range;

use bubble::end::SharedContents;
use machine::{Gpr, LaidOut, Memory, Registers, SignalOrigin};
use syscall_replay::{CallExit, Delivered, Unrecorded, is_restart};
use tracee::{Stop, Stopped};

use super::process::Process;
use super::thread::Thread;
use crate::app::is_synchronous;
use crate::base::{Failure, Moment};
use crate::report::Boundary;
use crate::sliced::boundaries::{Cut, Next, Then, behind_call, call_end, entry_registers};
use crate::sliced::slices::{LastCall, Recording};

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
    let comes_from_outside = !is_synchronous(info.si_signo, info.si_code);
    Ok(may_go_on && comes_from_outside && !thread.is_to_call_again() && slice.is_behind_call(stopped)?)
}

/// Records the call that the signal at hand has broken off, if that is possible and the signal has a handler: it has failed then. The master stands behind it
/// as behind any other.
///
/// # Errors
/// If the master was killed.
pub(super) fn records_broken_off_call(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    stopped: &Stopped,
    info: &libc::siginfo_t,
) -> Result<bool, Failure> {
    /// The call, and its handler's start.
    const RECORDS: u32 = 2;
    let known = thread.known_broken_off(stopped.registers()?.get(Gpr::Rax));
    let may_go_on = !slice.is_due() && slice.left() >= RECORDS && !is_synchronous(info.si_signo, info.si_code);
    let Some(number) = known.filter(|_| may_go_on) else { return Ok(false) };
    // What fails fills no buffer.
    let call = LastCall { number, room: 0 };
    slice.has_company(process.memory.has_other_writers());
    let files = process.memory.files();
    let recorded = slice.log_call(call, |log| {
        let none = CallExit::Boundary(Unrecorded::Class);
        thread.recorder.broken_off(stopped, log, files).unwrap_or(none)
    });
    if recorded != CallExit::Recorded {
        return Ok(false);
    }
    thread.gives_call_up();
    Ok(true)
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
    info: &libc::siginfo_t,
) -> Result<Next, Failure> {
    let (signal, mut info, begun) = (info.si_signo, *info, Moment::now());
    let before = stopped.registers()?;
    let call = slice.take_call().unwrap_or(LastCall { number: 0, room: 0 });
    let (mut stopped, stop) = stopped.enter_handler(signal)?;
    let status = thread.throttle.status();
    let (stopped, is_recorded) = match stop {
        Stop::HandlerEntered => {
            status.handler_runs(signal);
            let is_recorded = record(&stopped, slice, SignalOrigin::of(&info))?;
            (stopped, is_recorded)
        }
        // Another comes at once.
        Stop::Signal(next) => {
            status.forget_dispositions();
            info = next;
            process.arrives(&mut stopped, &mut info)?;
            (enter_next(process, stopped, info.si_signo, &mut info)?, false)
        }
        Stop::Interrupted => {
            status.forget_dispositions();
            (enter_next(process, stopped, 0, &mut info)?, false)
        }
        _ => return Err(not_entered()),
    };
    if is_recorded {
        thread.throttle.after_delivery(begun.elapsed());
        return Ok(Next::Resume(stopped, 0));
    }
    slice.take_back();
    let entry = entry_registers(&before, call.number);
    // To the app a call that a handler comes into has failed, whether it is made again or not.
    let result = before.get(Gpr::Rax);
    let result = if is_restart(result) { -i64::from(libc::EINTR) as u64 } else { result };
    let behind = behind_call(&entry, result, call.room).with_signal(&info);
    let mut end = call_end(&entry, SharedContents::default());
    end.frame = frame_elsewhere(&stopped, end.registers.rsp())?;
    thread.throttle.expect();
    Ok(Next::Cut(stopped, Cut { kind: Boundary::Signal, end: Some(end), then: Then::Fork, behind }))
}

fn enter_next(
    process: &mut Process,
    stopped: Stopped,
    signal: i32,
    info: &mut libc::siginfo_t,
) -> Result<Stopped, Failure> {
    enter(process, stopped, signal, info)?.ok_or_else(not_entered)
}

fn not_entered() -> Failure {
    Failure::Unsupported("a signal handler could not be entered".into())
}

/// Records the state at a handler's first instruction. False if that isn't possible.
fn record(stopped: &Stopped, slice: &mut Recording, origin: SignalOrigin) -> Result<bool, Failure> {
    let registers = stopped.registers()?.app();
    let Some(place) = frame(stopped, &registers) else { return Ok(false) };
    let mut frame = vec![0; (place.end - place.start) as usize];
    if stopped.read(place.start, &mut frame).is_err() {
        return Ok(false);
    }
    let xstate = stopped.xstate()?;
    Ok(slice.log_delivery(&Delivered {
        registers,
        frame: (place.start, &frame),
        origin,
        xstate: LaidOut::own(&xstate.bytes),
    }))
}

/// Where the frame lies: from the handler's stack pointer to the end of the extended state in it.
fn frame(stopped: &Stopped, registers: &Registers) -> Option<Range<u64>> {
    // A return address, the head of the ucontext, and 23 words of registers.
    const STATE: u64 = 8 + 40 + 23 * 8;
    // In the state's legacy region: a magic number, then the size of all of it.
    const MAGIC: u64 = 464;
    const MAGIC1: u64 = 0x4650_5853;
    // Both lie near the frame's start.
    const HEAD: u64 = 1 << 10;
    let start = registers.rsp();
    let mut head = [0; HEAD as usize];
    let len = stopped.read_prefix(start, &mut head);
    let word = |at: u64| {
        let at = usize::try_from(at).ok()?;
        Some(u64::from_le_bytes(head[..len].get(at..at.checked_add(8)?)?.try_into().ok()?))
    };
    let state = word(STATE)?;
    let software = word(state.checked_sub(start)?.checked_add(MAGIC)?)?;
    let end = state + (software >> 32);
    (software & 0xffff_ffff == MAGIC1 && start < state && end - start <= MOST_BYTES).then_some(start..end)
}

/// Where the frame of the handler lies that the process is about to execute, if that is another stack than the one
/// that was interrupted: from the stack pointer to the end of the alternate stack, which the frame itself names.
pub(in crate::sliced) fn frame_elsewhere(stopped: &Stopped, interrupted_rsp: u64) -> Result<[u64; 2], Failure> {
    // A frame starts with the return address and a ucontext: flags, link, then the stack's start, flags and size.
    const STACK_START: u64 = 24;
    const STACK_SIZE: u64 = 40;
    let rsp = stopped.registers()?.app().rsp();
    let word = |offset| stopped.read_u64(rsp + offset).unwrap_or(0);
    let stack = word(STACK_START)..word(STACK_START).saturating_add(word(STACK_SIZE));
    let switched = stack.contains(&rsp) && !stack.contains(&interrupted_rsp);
    Ok(if switched { [rsp, stack.end] } else { [0; 2] })
}

/// Delivers a signal. More may be due at once, a fault while the frame is written among them: those are delivered
/// as well, since no instruction of the app's is executed between them. Gives the last one's description.
pub(in crate::sliced) fn enter_handler(
    process: &mut Process,
    stopped: Stopped,
    signal: i32,
) -> Result<Option<(Stopped, libc::siginfo_t)>, Failure> {
    let mut info = stopped.signal_info()?;
    Ok(enter(process, stopped, signal, &mut info)?.map(|stopped| (stopped, info)))
}

fn enter(
    process: &mut Process,
    stopped: Stopped,
    signal: i32,
    last: &mut libc::siginfo_t,
) -> Result<Option<Stopped>, Failure> {
    let (mut stopped, mut stop) = stopped.enter_handler(signal)?;
    loop {
        match stop {
            Stop::HandlerEntered => return Ok(Some(stopped)),
            Stop::Signal(mut info) => {
                process.arrives(&mut stopped, &mut info)?;
                *last = info;
                (stopped, stop) = stopped.enter_handler(info.si_signo)?;
            }
            Stop::Interrupted => (stopped, stop) = stopped.enter_handler(0)?,
            _ => return Ok(None),
        }
    }
}
