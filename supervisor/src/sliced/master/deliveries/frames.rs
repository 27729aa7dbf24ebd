//! What the kernel does where a handler begins: it writes a frame, and sets registers. The frame is copied to the log as the kernel has written it.
//!
//! Entering handlers, wherever the signal came: [`enter_handler`].

use std::ops::Range;

use machine::{LaidOut, Memory, Registers, SignalOrigin};
use syscall_replay::Delivered;
use tracee::{Stop, Stopped};

use crate::base::Failure;
use crate::sliced::master::process::Process;
use crate::sliced::master::thread::Thread;
use crate::sliced::slices::Recording;

/// No frame is as large as that.
pub(super) const MOST_BYTES: u64 = 64 << 10;

/// The process is at a handler's first instruction.
pub(super) struct Entered {
    pub(super) stopped: Stopped,
    /// The log says how it has come there.
    pub(super) is_recorded: bool,
}

/// Delivers the signal at hand and records it. Where more come at once they are delivered, too, but that isn't recorded; `info` is then the last one's.
pub(super) fn enter_and_record(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    stopped: Stopped,
    info: &mut libc::siginfo_t,
) -> Result<Entered, Failure> {
    let (mut stopped, stop) = stopped.enter_handler(info.si_signo)?;
    let status = thread.throttle.status();
    match stop {
        Stop::HandlerEntered => {
            status.handler_runs(info.si_signo);
            let is_recorded = record(&stopped, slice, SignalOrigin::of(info))?;
            Ok(Entered { stopped, is_recorded })
        }
        // Another comes at once.
        Stop::Signal(next) => {
            status.forget_dispositions();
            *info = next;
            process.arrives(&mut stopped, info)?;
            Ok(Entered { stopped: enter_next(process, stopped, info.si_signo, info)?, is_recorded: false })
        }
        Stop::Interrupted => {
            status.forget_dispositions();
            Ok(Entered { stopped: enter_next(process, stopped, 0, info)?, is_recorded: false })
        }
        _ => Err(not_entered()),
    }
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
