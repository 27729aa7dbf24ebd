//! Entering signal handlers.

use machine::Memory;
use tracee::{Stop, Stopped};

use super::process::Process;
use crate::base::Failure;

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
/// as well, since no instruction of the app's is executed between them.
pub(in crate::sliced) fn enter_handler(
    process: &mut Process,
    stopped: Stopped,
    signal: i32,
) -> Result<Option<Stopped>, Failure> {
    let (mut stopped, mut stop) = stopped.enter_handler(signal)?;
    loop {
        match stop {
            Stop::HandlerEntered => return Ok(Some(stopped)),
            Stop::Signal(mut info) => {
                process.arrives(&mut stopped, &mut info)?;
                (stopped, stop) = stopped.enter_handler(info.si_signo)?;
            }
            Stop::Interrupted => (stopped, stop) = stopped.enter_handler(0)?,
            _ => return Ok(None),
        }
    }
}
