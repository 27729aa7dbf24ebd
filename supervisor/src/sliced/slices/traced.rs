//! Processes of slices that aren't our children.
//!
//! A copy of an app that somebody else has started has a parent among the app's ancestors: that one reaps it. We learn of its end, and it dies with us, because it stays traced.
//! All signals that it gets are its own.

use std::collections::BTreeMap;

use tracee::{Change, Follows, Mode, Report, Running, Stop, Stopped, TraceError};

/// Those that are traced.
#[derive(Default)]
pub struct TracedSlices {
    are_wanted: bool,
    running: BTreeMap<i32, Running>,
}

impl TracedSlices {
    /// From now on slices are traced.
    pub fn want(&mut self) {
        self.are_wanted = true;
    }

    /// Whether they are.
    pub fn are_wanted(&self) -> bool {
        self.are_wanted
    }

    /// Whether this is one.
    pub fn has(&self, pid: i32) -> bool {
        self.running.contains_key(&pid)
    }

    /// A slice's process goes on, and is traced on if that is wanted.
    ///
    /// # Errors
    /// If it was killed.
    pub fn release(&mut self, mut process: Stopped) -> Result<(), TraceError> {
        if !self.are_wanted {
            return process.detach(0);
        }
        process.follow(Follows::All, true)?;
        self.running.insert(process.pid(), process.resume(Mode::Free, 0)?);
        Ok(())
    }

    /// One has ended.
    pub fn ends(&mut self, pid: i32) {
        self.running.remove(&pid);
    }

    /// One has stopped: it goes on. Gives the process that it has forked, if it has.
    ///
    /// # Errors
    /// If it can't be looked at.
    pub fn stops(&mut self, report: Report) -> Result<Option<Running>, TraceError> {
        let pid = report.pid();
        let Some(running) = self.running.remove(&pid) else { return Ok(None) };
        let outcome = running.observe(report).and_then(|change| {
            let Change::Stopped(stopped, stop) = change else { return Ok(None) };
            let (signal, forked) = match stop {
                Stop::Started { child, .. } => (0, Some(child)),
                Stop::Signal(info) => (info.si_signo, None),
                _ => (0, None),
            };
            self.running.insert(pid, stopped.resume(Mode::Free, signal)?);
            Ok(forked)
        });
        match outcome {
            // Its end is told as well.
            Err(error) if error.is_gone() => Ok(None),
            outcome => outcome,
        }
    }
}
