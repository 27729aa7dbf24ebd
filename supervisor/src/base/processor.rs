//! Times at which the master is kept on one processor.
//!
//! A new program image is, until it has asked `cpuid`: some answers of `cpuid` name the processor on which it was executed,
//! and the dynamic loader keeps them in memory. Where the CPU can't trap `cpuid`, the master is kept on one processor from exec until it has run for a while, and slices look up
//! what that one answers. And a master that stops often is kept where it is, see [`super::affinity`]. Before the app could notice (it asks for its
//! processors or starts a process) it gets back the processors that it had; so it does for each fork, since slices inherit them.

use std::sync::OnceLock;

use machine::cpuid;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

/// In place of a processor, where `cpuid` is trapped.
const TRAPPED: u32 = u32::MAX;

/// What `cpuid` answers on the processor on which the master asks it, taken once. Not taken where it is trapped, and recorded.
pub fn cpuid_table() -> &'static cpuid::Table {
    static TABLE: OnceLock<Box<cpuid::Table>> = OnceLock::new();
    TABLE.get_or_init(|| match for_cpuid() {
        TRAPPED => cpuid::Table::none(),
        processor => {
            let mut own = Processor::new(0);
            own.stay_on(processor as usize);
            let table = cpuid::Table::take();
            own.give_back();
            table
        }
    })
}

/// The processor on which the master is to execute `cpuid`: the same for the whole run, wherever this process may move to.
fn for_cpuid() -> u32 {
    static CHOSEN: OnceLock<u32> = OnceLock::new();
    *CHOSEN.get_or_init(|| {
        if cpuid::can_trap() {
            return TRAPPED;
        }
        let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap_or_default();
        let first = (0..CpuSet::count()).find(|&n| allowed.is_set(n).unwrap_or(false));
        first.map_or(TRAPPED, |n| n as u32)
    })
}

/// Whether a system call tells the app on which processors it may run, or starts a process that inherits them.
pub fn matters_to(number: u64) -> bool {
    let calls = [
        libc::SYS_sched_getaffinity,
        libc::SYS_sched_setaffinity,
        libc::SYS_getcpu,
        libc::SYS_clone,
        libc::SYS_clone3,
        libc::SYS_fork,
        libc::SYS_vfork,
    ];
    calls.contains(&(number as i64))
}

/// Processors of a thread of the master's.
pub struct Processor {
    pid: Pid,
    /// What it may use by itself, while it is kept on one.
    own: Option<CpuSet>,
    /// That one.
    kept_on: usize,
    /// Whether that is for `cpuid`.
    is_for_cpuid: bool,
}

impl Processor {
    /// Of the thread `tid`, which has its own for now.
    pub fn new(tid: i32) -> Self {
        Self { pid: Pid::from_raw(tid), own: None, kept_on: 0, is_for_cpuid: false }
    }

    /// Whose they are.
    pub fn tid(&self) -> i32 {
        self.pid.as_raw()
    }

    /// The thread has another number from now on.
    pub fn is_renamed(&mut self, tid: i32) {
        self.pid = Pid::from_raw(tid);
    }

    /// It goes on in place of another thread, which has these: one is where the other was.
    pub fn goes_on_for(&mut self, other: &Self) {
        match other.own {
            Some(_) => {
                self.stay_on(other.kept_on);
                self.is_for_cpuid = other.is_for_cpuid && self.own.is_some();
            }
            None => self.give_back(),
        }
    }

    /// Keeps it on the processor for `cpuid`. Where that isn't possible (it may not use that one), slices may be told another number
    /// than it was, and verification finds the difference if it matters.
    pub fn keep(&mut self) {
        let processor = for_cpuid();
        if processor != TRAPPED {
            self.stay_on(processor as usize);
            self.is_for_cpuid = self.own.is_some();
        }
    }

    /// Keeps it on a processor, if it may use that.
    pub fn stay_on(&mut self, processor: usize) {
        if self.own.is_some() && self.kept_on == processor {
            return;
        }
        self.give_back();
        let Ok(own) = sched_getaffinity(self.pid) else { return };
        let mut one = CpuSet::new();
        if one.set(processor).is_ok() && sched_setaffinity(self.pid, &one).is_ok() {
            (self.own, self.kept_on) = (Some(own), processor);
        }
    }

    /// Gives back what it had, unless it is kept for `cpuid`.
    pub fn stay_no_longer(&mut self) {
        if !self.is_for_cpuid {
            self.give_back();
        }
    }

    /// Gives back what it had.
    pub fn give_back(&mut self) {
        self.is_for_cpuid = false;
        if let Some(own) = self.own.take() {
            // It fails only if the process is gone.
            let _ = sched_setaffinity(self.pid, &own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_for_cpuid_stays_the_same() {
        let before = for_cpuid();
        let mut processor = Processor::new(0);
        let allowed = sched_getaffinity(Pid::from_raw(0)).unwrap();
        processor.stay_on((0..CpuSet::count()).rfind(|&n| allowed.is_set(n).unwrap()).unwrap());
        assert_eq!(for_cpuid(), before);
        processor.give_back();
    }

    #[test]
    fn a_process_gets_back_its_processors() {
        let me = Pid::from_raw(0);
        let before = sched_getaffinity(me).unwrap();
        let mut processor = Processor::new(0);
        processor.keep();
        processor.give_back();
        assert!(sched_getaffinity(me).unwrap() == before);
    }
}
