//! Signals that come, and turns that end, in the midst of the app's code.
//!
//! A slice has to find the place. So the log tells the state there as it would be told of a slice's end, and all that the app has written to memory since the slice's start: two states
//! that agree in that are one.

use bubble::behind::Behind;
use bubble::end::{End, EndKind, EndStands};
use bubble::map::BUBBLE;
use machine::LaidOut;
use syscall_replay::Point;
use tracee::Stopped;

use super::frames::{Entered, MOST_BYTES, enter_and_record, frame_elsewhere};
use crate::app::is_synchronous;
use crate::base::{Failure, Moment};
use crate::report::Boundary;
use crate::sliced::boundaries::{Cut, Next, Then};
use crate::sliced::master::process::Process;
use crate::sliced::master::thread::Thread;
use crate::sliced::memory::Changes;
use crate::sliced::slices::Recording;

/// The point, and its handler's start or the turn.
const RECORDS: u32 = 2;
/// Where the kernel's addresses begin.
const KERNEL: u64 = 1 << 63;

/// A place that can be told.
pub(in crate::sliced::master) struct Here {
    end: Box<End>,
    changes: Changes,
    begun: Moment,
}

/// The place at which the master stands, if the signal at hand, which has a handler, can be recorded there.
///
/// # Errors
/// If the master was killed.
pub(in crate::sliced::master) fn point_here(
    process: &mut Process,
    thread: &Thread,
    slice: &mut Recording,
    stopped: &Stopped,
    info: &libc::siginfo_t,
) -> Result<Option<Here>, Failure> {
    let begun = Moment::now();
    let is_in_code = !thread.is_to_call_again() && !thread.awaits() && !slice.is_behind_call(stopped)?;
    if is_synchronous(info.si_signo, info.si_code) || !is_in_code {
        return Ok(None);
    }
    let pc = stopped.registers()?.rip();
    if pc >= KERNEL || BUBBLE.contains(pc) || process.random.is_behind(pc) {
        return Ok(None);
    }
    let Some(changes) = changes_here(process, slice, stopped)? else { return Ok(None) };
    let registers = stopped.registers()?.app();
    let end = sigmatch::capture(EndKind::Signature, &registers, &*stopped.xstate()?, stopped);
    Ok(Some(Here { end: Box::new(end), changes, begun }))
}

/// What the slice is to be told of memory where the master stands. `None`: something else can't be told, or there is too much of it.
fn changes_here(process: &mut Process, slice: &mut Recording, stopped: &Stopped) -> Result<Option<Changes>, Failure> {
    let may_go_on = !slice.is_due() && slice.left() >= RECORDS;
    if !may_go_on || process.memory.has_other_writers() || process.checks_calls {
        return Ok(None);
    }
    let (pid, changed) = (process.pid(), &mut process.memory.changed_pages);
    let rsp = stopped.registers()?.app().rsp();
    let Some(changes) = changed.since_start(slice.number(), pid, stopped, rsp) else { return Ok(None) };
    let needed = changes.noted.len() as u64 + 2 * MOST_BYTES;
    let bytes = slice.bytes_left();
    if bytes.end.saturating_sub(bytes.start) < needed || (slice.room() as u64) < needed {
        changed.forget();
        return Ok(None);
    }
    Ok(Some(changes))
}

/// Records the place. False: there was no room after all.
fn log(slice: &mut Recording, end: &End, changes: &Changes) -> bool {
    let stack: Vec<u8> = end.stack[..end.stack_words as usize].iter().flat_map(|word| word.to_le_bytes()).collect();
    slice.log_point(&Point {
        registers: end.registers,
        starts_block: end.stands == EndStands::First,
        stack: &stack,
        xstate: LaidOut { layout: end.xstate.layout, bytes: &end.xstate.state.bytes },
        live_from: changes.live_from,
        noted: &changes.noted,
    })
}

/// Delivers the signal there and records it. Where that turns out to be impossible, the slice ends there.
///
/// # Errors
/// If the master was killed, or doesn't come to a handler.
pub(in crate::sliced::master) fn deliver_at_point(
    process: &mut Process,
    thread: &mut Thread,
    slice: &mut Recording,
    stopped: Stopped,
    info: &libc::siginfo_t,
    here: Here,
) -> Result<Next, Failure> {
    let Here { mut end, changes, begun } = here;
    let mut info = *info;
    let is_logged = log(slice, &end, &changes);
    let Entered { stopped, is_recorded } = enter_and_record(process, thread, slice, stopped, &mut info)?;
    if is_logged && is_recorded {
        thread.throttle.after_point(begun.elapsed());
        return Ok(Next::Resume(stopped, 0));
    }
    if is_logged {
        slice.take_point_back();
    }
    process.memory.changed_pages.forget();
    end.stands = EndStands::Anywhere;
    end.frame = frame_elsewhere(&stopped, end.registers.rsp())?;
    thread.throttle.expect();
    let behind = Behind::default().with_signal(&info);
    Ok(Next::Cut(stopped, Cut { kind: Boundary::Signal, end: Some(end), then: Then::Fork, behind }))
}

/// The slice would end here, where the master stands, for no other reason than that the turn does. Records the place, if that can be told: then the slice needn't end.
///
/// # Errors
/// If the master was killed.
pub(in crate::sliced) fn turn_ends_at_point(
    process: &mut Process,
    thread: &Thread,
    slice: &mut Recording,
    stopped: &Stopped,
    cut: &Cut,
) -> Result<bool, Failure> {
    let end = cut.end.as_ref().filter(|end| end.kind == EndKind::Signature);
    let (Some(end), Boundary::Timeout, Then::Fork, true) = (end, cut.kind, cut.then, thread.may_give_way()) else {
        return Ok(false);
    };
    let Some(changes) = changes_here(process, slice, stopped)? else { return Ok(false) };
    let is_logged = log(slice, end, &changes);
    if !is_logged {
        process.memory.changed_pages.forget();
    }
    Ok(is_logged)
}
