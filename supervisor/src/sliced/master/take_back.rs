//! What the recorder inside the master may do, and taking the master back from it, whenever it stops.

use machine::Gpr;
use tracee::{Mode, Running, Stop, Stopped};

use super::calls::{entry, exit};
use super::process::Process;
use super::thread::{Again, Thread};
use crate::app::{is_dropped, is_synchronous};
use crate::base::Failure;
use crate::sliced::boundaries::Next;
use crate::sliced::recorder::{Came, Changes, Shows, Terms, Waits, can_pass_turns};
use crate::sliced::slices::Recording;

impl Process {
    /// What the recorder may do to memory that nobody needs to see.
    pub(super) fn terms(&mut self) -> Terms {
        let (protected, shown) = self.in_process.often();
        let changes = protected.and_then(|range| {
            let (is_ignored, is_code) = self.random.ignores(&range);
            let forbidden = if is_code { Changes::CODE } else { Changes::DATA };
            (is_ignored && self.memory.is_own(&range)).then_some(Changes { range, forbidden })
        });
        let shows = shown.and_then(|address| {
            let (range, most) = self.memory.shows_unseen(address)?;
            self.random.maps_unseen(&range).then_some(Shows { range, most })
        });
        let is_bare = self.memory.has_other_writers();
        Terms {
            changes,
            shows,
            is_bare,
            may_poke: !self.memory.is_shared(),
            // Its calls wait for nobody who needs a turn.
            has_threads: self.has_threads(),
            passes_turns: self.has_threads() && !is_bare && self.can_pass_turns_on && can_pass_turns(),
        }
    }
}

/// The signal for which an armed master has stopped, if nothing comes of it: it goes on with that as if it hadn't stopped.
pub fn passes_by(process: &Process, thread: &Thread, stop: &Stop) -> Option<i32> {
    let Stop::Signal(info) = stop else { return None };
    let signal = info.si_signo;
    let can = process.in_process.is_armed() && !is_synchronous(signal, info.si_code);
    let dispositions = can.then(|| thread.throttle.status().dispositions(signal)).flatten()?;
    is_dropped(signal, dispositions).then_some(signal)
}

/// Takes the master back. Gives the stop, if there is anything left of it to be handled.
///
/// # Errors
/// If it was killed.
pub fn take_back(
    process: &mut Process,
    thread: &mut Thread,
    slice: Option<&mut Recording>,
    stopped: Stopped,
    stop: Stop,
) -> Result<(Stopped, Option<Stop>), Failure> {
    if !process.in_process.is_armed() {
        return Ok((stopped, Some(stop)));
    }
    let (mut stopped, mut stop) = (stopped, stop);
    if process.in_process.awaits_signal(&stopped, &stop)? {
        if matches!(stop, Stop::Group(_)) {
            // Nobody looks at it while it stays stopped; the signal is its next stop.
            return Ok((stopped, Some(stop)));
        }
        // The interrupt is sent again before the master goes on.
        (stopped, stop) = stopped.resume_and_wait(process.in_process.mode(), 0)?;
    }
    let (mut stopped, came) = process.in_process.bring_back(stopped, &stop)?;
    let has_called = process.in_process.take_back(&mut stopped, process.prepared.gadget, slice)?;
    match came {
        Came::ToCall => return Ok((stopped, None)),
        Came::IntoCall(number) => {
            thread.rewinds(number, Again::default());
            return Ok((stopped, None));
        }
        Came::OutOfCall(number) => thread.is_broken_off(number, false),
        Came::WithoutRecord => {
            process.in_process.loses_record();
            return Ok((stopped, Some(Stop::Interrupted)));
        }
        Came::Stopped => {}
    }
    if let Stop::Signal(info) = &stop
        && has_called
    {
        stopped = stopped.stop_again_for(process.pid(), info)?;
    }
    Ok((stopped, Some(stop)))
}

/// Where a thread is that has waited in the care of the recorder.
pub enum CameOut {
    /// In its call, without the turn.
    Waits(Running),
    /// It has come to this stop, without the turn.
    Comes(Stopped, Stop),
}

/// A thread that hasn't the turn leaves the recorder's care, from which all were taken back: it is as if it had made its call by itself. Without a slice it is about to be let go.
///
/// # Errors
/// If it was killed.
pub fn comes_out(
    process: &mut Process,
    thread: &mut Thread,
    slice: Option<&mut Recording>,
    mut stopped: Stopped,
    stop: Stop,
) -> Result<CameOut, Failure> {
    /// `ERESTARTSYS`: broken off, and made again unless a handler runs.
    const RESTARTS: i64 = -512;
    let Waits { number, args, result } = process.in_process.comes_out(&mut stopped)?;
    let has_called = process.in_process.ends_dispatch(&mut stopped, process.prepared.gadget)?;
    thread.comes_out();
    let is_to_call = result.is_none() && !matches!(stop, Stop::Signal(_));
    let mut registers = stopped.registers()?;
    if is_to_call {
        registers.rewind_syscall();
    } else {
        registers.set(Gpr::Rax, result.unwrap_or(RESTARTS as u64));
    }
    stopped.set_registers(&registers)?;
    if let Stop::Signal(info) = &stop
        && has_called
        && (result.is_none() || slice.is_none())
    {
        stopped = stopped.stop_again_for(process.pid(), info)?;
    }
    let Some(slice) = slice else { return Ok(CameOut::Comes(stopped, stop)) };
    if is_to_call {
        stopped = stopped.run_into_call()?;
    }
    stopped = goes_on(entry(process, thread, slice, stopped, number, args)?)?;
    thread.loses_turn_in_call();
    Ok(match (result, stop) {
        (Some(result), stop) => {
            if let Stop::Signal(info) = stop {
                // The end of its call comes first.
                thread.sends_again(&info);
            }
            CameOut::Comes(stopped, Stop::SyscallExit { result: result as i64 })
        }
        (None, Stop::Signal(info)) => {
            CameOut::Comes(goes_on(exit(process, thread, slice, stopped, RESTARTS)?)?, Stop::Signal(info))
        }
        (None, _) => CameOut::Waits(stopped.resume(Mode::Syscalls, 0)?),
    })
}

fn goes_on(next: Next) -> Result<Stopped, Failure> {
    let why = "a thread can't make a call by itself that it has made in the recorder's care";
    if let Next::Resume(stopped, 0) = next { Ok(stopped) } else { Err(Failure::Unsupported(why.to_owned())) }
}
