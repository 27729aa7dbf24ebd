//! The processes of a run, seen from outside.

use std::fs;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Superpin,
    Collector,
    App,
    /// A slice that has been running for a while.
    Slice,
    /// A slice that boots or waits for its end to be known, or a process that keeps a first state.
    Waiting,
}

#[derive(Debug)]
pub struct Process {
    pub pid: i32,
    pub kind: Kind,
}

impl Process {
    pub fn send(&self, signal: i32) {
        assert!(self.send_if_alive(signal), "{self:?} is gone");
    }

    pub fn send_if_alive(&self, signal: i32) -> bool {
        // SAFETY: kill reads no memory; the process belongs to the run of this test.
        unsafe { libc::kill(self.pid, signal) == 0 }
    }
}

/// Living processes of a group. Slices, and what keeps their first states, are forks of the app that nobody traces; the app
/// is traced.
pub fn group(leader: u32) -> Vec<Process> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|e| e.ok()?.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let (state, _parent, group) = (fields.next()?, fields.next()?, fields.next()?);
        let ticks: u64 = fields.skip(8).take(2).map(|n| n.parse().unwrap_or(0)).sum();
        if state == "Z" || state == "X" || group != leader.to_string() {
            return None;
        }
        let arguments = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let traced = !status.lines().any(|line| line.split_whitespace().eq(["TracerPid:", "0"]));
        let kind = match () {
            () if pid == leader as i32 => Kind::Superpin,
            () if arguments.starts_with("superpin-collector") => Kind::Collector,
            () if traced => Kind::App,
            // To boot takes a tick or two at most; from then on there is a process that keeps the first state.
            () if state == "R" && ticks > 2 => Kind::Slice,
            () => Kind::Waiting,
        };
        Some(Process { pid, kind })
    })
    .collect()
}

/// Whether a process has set a handler for a signal.
pub fn catches(pid: i32, signal: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigCgt:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 != 0)
}
