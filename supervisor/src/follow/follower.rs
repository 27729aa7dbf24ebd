//! What follows one process, serially or in slices, as the loop over all of them sees it.

use std::time::Duration;

use tracee::{ExitStatus, Report, Stopped};

use super::new_processes::NewProcess;
use super::resources::{Outcome, Resources};
use super::stops::JobStop;
use crate::events::Taken;
use crate::report::LiveStatus;

/// What follows one process from its start to its end.
pub trait Follower<'a> {
    /// A report on it.
    fn observe(&mut self, report: Report);
    /// Whether this is another thread of its process, which is under control.
    fn has_thread(&self, _tid: i32) -> bool {
        false
    }
    /// A new thread of its process, before its first instruction.
    fn adopt_thread(&mut self, thread: Stopped) {
        drop(thread.detach(0));
    }
    /// A process that a slice of it has forked, before its first instruction.
    fn adopt_slice(&mut self, process: Stopped) {
        drop(process.detach(0));
    }
    /// Some other process has ended.
    fn other_ended(&mut self, pid: i32, exit: ExitStatus);
    /// The process is to go on natively for good, and its result to be what there is until then.
    fn detach(&mut self);
    /// The slice timer has run down.
    fn time_is_over(&mut self) {}
    /// Its signals have been held back for long enough.
    fn throttle_is_over(&mut self) {}
    /// One of its threads may have had the turn for long enough.
    fn turn_may_be_over(&mut self) {}
    /// The collector has answered.
    fn collector_answered(&mut self);
    /// Somebody, or the terminal, has sent superpin a signal.
    fn signal_sent(&mut self, info: &libc::siginfo_t, taken: Taken);
    /// Gives the time after which this is to be asked again.
    fn look_again(&mut self) -> Option<Duration> {
        None
    }
    /// Where it stands, if its app runs in slices, and writes nothing to a terminal without being seen.
    fn live_status(&mut self) -> Option<LiveStatus> {
        None
    }
    /// The stop by a stopping signal that the process is in, if it is in one.
    fn job_stop(&self) -> Option<JobStop>;
    /// Takes the processes that it has started since the last call.
    fn new_processes(&mut self) -> Vec<NewProcess>;
    /// Whether nothing is left to be done but to print the result.
    fn is_over(&self) -> bool;
    /// How it went.
    fn conclude(self: Box<Self>) -> (Outcome, Resources<'a>);
}
