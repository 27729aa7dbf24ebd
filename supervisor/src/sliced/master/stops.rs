//! What each stop is: the one place that tells the master's stops apart.

use tracee::{Stop, Stopped};

use super::master::Master;
use crate::base::Failure;
use crate::report::Boundary;
use crate::sliced::boundaries::{Cut, FOREIGN_CALL, Next, Then, call_end};
use crate::sliced::slices::Recording;

impl Master {
    /// Looks at a stop.
    ///
    /// # Errors
    /// If the master was killed, or the kernel refuses something.
    pub fn handle(&mut self, stopped: Stopped, stop: Stop, slice: &mut Recording) -> Result<Next, Failure> {
        match stop {
            Stop::SyscallEntry { number, args } => self.entry(stopped, number, args, slice),
            Stop::ForeignSyscall => {
                Ok(Next::GiveUp(stopped, Stop::ForeignSyscall, Failure::Unsupported(FOREIGN_CALL.to_owned())))
            }
            Stop::SyscallExit { result } => self.exit(stopped, result, slice),
            Stop::Signal(info) => self.signal(stopped, info, slice),
            Stop::Exec => self.exec(stopped),
            Stop::Interrupted => self.arrive(stopped, slice),
            Stop::Group(_) => Ok(Next::Stay(stopped)),
            Stop::HandlerEntered | Stop::Started { .. } | Stop::Other(_) => Ok(Next::Resume(stopped, 0)),
        }
    }

    fn exec(&mut self, stopped: Stopped) -> Result<Next, Failure> {
        let call = self.call.take();
        let stopped = stopped.finish_exec()?;
        self.shares_memory = false;
        self.has_company = false;
        self.unstable.unmapped();
        self.file_writes.clear();
        self.shared_copies.clear();
        self.in_process.new_image();
        let end = call.and_then(|call| Some(call_end(&call.entry?, call.shared)));
        Ok(Next::Cut(stopped, Cut { kind: Boundary::Exec, end, then: Then::Image }))
    }
}
