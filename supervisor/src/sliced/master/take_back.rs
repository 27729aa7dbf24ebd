//! Taking the master back from the recorder inside it, whenever it stops.

use tracee::{Stop, Stopped};

use super::master::Master;
use crate::base::Failure;
use crate::sliced::recorder::Came;
use crate::sliced::slices::Recording;

impl Master {
    /// Takes the master back. Gives the stop, if there is anything left of it to be handled.
    ///
    /// # Errors
    /// If it was killed.
    pub fn settle(
        &mut self,
        stopped: Stopped,
        stop: Stop,
        slice: Option<&mut Recording>,
    ) -> Result<(Stopped, Option<Stop>), Failure> {
        if !self.in_process.is_armed() {
            return Ok((stopped, Some(stop)));
        }
        let (mut stopped, mut stop) = (stopped, stop);
        if self.in_process.awaits_signal(&stopped, &stop)? {
            if matches!(stop, Stop::Group(_)) {
                // Nobody looks at it while it stays stopped; the signal is its next stop.
                return Ok((stopped, Some(stop)));
            }
            // The interrupt is sent again before the master goes on.
            (stopped, stop) = stopped.resume_and_wait(self.in_process.mode(), 0)?;
        }
        let (stopped, came) = self.in_process.bring_back(stopped, &stop)?;
        let records = self.in_process.take_back(slice)?;
        if records > 0 {
            self.last_recorded = None;
        }
        match came {
            Came::ToCall => return Ok((stopped, None)),
            Came::IntoCall(number) => {
                self.rewind(number);
                return Ok((stopped, None));
            }
            Came::OutOfCall(number) => self.interrupted = Some(number),
            Came::WithoutRecord => {
                self.in_process.has_lost_record = true;
                return Ok((stopped, Some(Stop::Interrupted)));
            }
            Came::Stopped => {}
        }
        Ok((stopped, Some(stop)))
    }
}
