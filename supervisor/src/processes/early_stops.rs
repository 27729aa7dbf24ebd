//! First stops of new processes that come before somebody knows of them.

use std::collections::BTreeMap;

use tracee::{Change, Report, Running, Stopped, TraceError};

/// New processes whose first reports came before their parents' or after.
#[derive(Default)]
pub struct EarlyStops {
    early: BTreeMap<i32, Report>,
}

impl EarlyStops {
    /// A process that nobody knows yet has stopped.
    pub fn keep(&mut self, report: Report) {
        self.early.insert(report.pid(), report);
    }

    /// A new process at its first stop.
    ///
    /// # Errors
    /// If it was killed.
    pub fn take(&mut self, child: Running) -> Result<Stopped, TraceError> {
        let pid = child.pid();
        match self.early.remove(&pid) {
            Some(report) => match child.observe(report)? {
                Change::Stopped(stopped, _) => Ok(stopped),
                Change::Ended(_) => Err(TraceError::Gone { pid, action: "wait for it" }),
            },
            None => Ok(child.wait()?.0),
        }
    }
}
