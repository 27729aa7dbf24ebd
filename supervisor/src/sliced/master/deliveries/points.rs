//! Signals that come in the midst of the app's code.
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

/// The point, and its handler's start.
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
    let may_go_on = !slice.is_due() && slice.left() >= RECORDS && !is_synchronous(info.si_signo, info.si_code);
    let is_alone = !process.has_threads() && thread.tid() == process.pid() && !process.memory.has_other_writers();
    let is_in_code = !thread.is_to_call_again() && !thread.awaits() && !slice.is_behind_call(stopped)?;
    if !may_go_on || !is_alone || !is_in_code || process.checks_calls {
        return Ok(None);
    }
    let registers = stopped.registers()?.app();
    let pc = registers.rip;
    if pc >= KERNEL || BUBBLE.contains(pc) || process.random.is_behind(pc) {
        return Ok(None);
    }
    let (pid, changed) = (process.pid(), &mut process.memory.changed_pages);
    let changes = changed.since_start(slice.number(), pid, stopped, registers.rsp());
    let Some(changes) = changes else { return Ok(None) };
    let needed = changes.noted.len() as u64 + 2 * MOST_BYTES;
    if slice.bytes_left().end.saturating_sub(slice.bytes_left().start) < needed || (slice.room() as u64) < needed {
        changed.forget();
        return Ok(None);
    }
    let end = sigmatch::capture(EndKind::Signature, &registers, &*stopped.xstate()?, stopped);
    Ok(Some(Here { end: Box::new(end), changes, begun }))
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
    let stack: Vec<u8> = end.stack[..end.stack_words as usize].iter().flat_map(|word| word.to_le_bytes()).collect();
    let point = Point {
        registers: end.registers,
        stack: &stack,
        xstate: LaidOut { layout: end.xstate.layout, bytes: &end.xstate.state.bytes },
        live_from: changes.live_from,
        noted: &changes.noted,
    };
    let is_logged = slice.log_point(&point);
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
