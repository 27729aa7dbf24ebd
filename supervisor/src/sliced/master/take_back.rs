//! Taking the master back from the recorder inside it, whenever it stops.

use tracee::{Stop, Stopped};

use super::process::Process;
use super::thread::Thread;
use crate::app::{is_dropped, is_synchronous};
use crate::base::Failure;
use crate::sliced::recorder::Came;
use crate::sliced::slices::Recording;

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
    process.in_process.take_back(&mut stopped, process.prepared.gadget, slice)?;
    match came {
        Came::ToCall => return Ok((stopped, None)),
        Came::IntoCall(number) => {
            thread.rewinds(number, false);
            return Ok((stopped, None));
        }
        Came::OutOfCall(number) => thread.is_broken_off(number, false),
        Came::WithoutRecord => {
            process.in_process.loses_record();
            return Ok((stopped, Some(Stop::Interrupted)));
        }
        Came::Stopped => {}
    }
    Ok((stopped, Some(stop)))
}
