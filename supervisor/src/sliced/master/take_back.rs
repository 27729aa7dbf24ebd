//! Taking the master back from the recorder inside it, whenever it stops.

use tracee::{Stop, Stopped};

use super::process::Process;
use super::thread::Thread;
use crate::base::Failure;
use crate::sliced::recorder::Came;
use crate::sliced::slices::Recording;

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
    let (stopped, came) = process.in_process.bring_back(stopped, &stop)?;
    process.in_process.take_back(slice)?;
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
