//! Signals that come at the end of a call that is recorded, or break it off: the state there is exact.

use bubble::end::SharedContents;
use machine::Gpr;
use syscall_replay::{CallExit, Unrecorded, is_restart};
use tracee::Stopped;

use super::frames::{Entered, enter_and_record, frame_elsewhere};
use crate::app::is_synchronous;
use crate::base::{Failure, Moment};
use crate::report::Boundary;
use crate::sliced::boundaries::{Cut, Next, Then, behind_call, call_end, entry_registers};
use crate::sliced::master::process::Process;
use crate::sliced::master::thread::Thread;
use crate::sliced::slices::{LastCall, Recording};

/// Whether the signal at hand can be recorded, being one that has a handler: the master stands behind its last recorded call, and may have further records.
///
/// # Errors
/// If the master was killed.
pub(in crate::sliced::master) fn is_behind_recorded_call(
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
pub(in crate::sliced::master) fn records_broken_off_call(
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
pub(in crate::sliced::master) fn deliver_behind_call(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    stopped: Stopped,
    info: &libc::siginfo_t,
) -> Result<Next, Failure> {
    let (mut info, begun) = (*info, Moment::now());
    let before = stopped.registers()?;
    let call = slice.take_call().unwrap_or(LastCall { number: 0, room: 0 });
    let Entered { stopped, is_recorded } = enter_and_record(process, thread, slice, stopped, &mut info)?;
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
