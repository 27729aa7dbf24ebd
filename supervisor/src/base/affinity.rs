//! The control process and the master stay on one processor while the master stops often.
//!
//! A stop is a hand-over: one of the two runs, the other waits for it. If they are on different processors, each hand-over wakes
//! one that may have gone to sleep: in a virtual machine that took about 60 microseconds a stop, on one processor 24. And a
//! processor that goes from a process whose `rdtsc` traps, as the master's does, to one whose doesn't must change a control
//! register, where virtual machines are slow as well: with both alike a stop took 10 microseconds. So with `cpuid`, where that traps. Between
//! rare stops each is better off on a processor of its own. If several processes are followed, the last one to stop often
//! has the control process with it.

use std::sync::OnceLock;
use std::time::Duration;

use machine::cpuid;
use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use super::moment::{Moment, trap_counter};
use super::processor::Processor;

/// Stops after which the matter is looked at again.
const STOPS: u32 = 128;
/// Average time between stops up to which they are frequent: a hand-over between processors would be a good part of it.
const FREQUENT: Duration = Duration::from_micros(500);

/// Where the control process may run.
#[derive(Debug)]
pub struct Affinity {
    stops: u32,
    since: Moment,
}

/// This process's own processors, from before it was first kept on a master's.
static OWN: OnceLock<CpuSet> = OnceLock::new();

fn own() -> &'static CpuSet {
    OWN.get_or_init(|| sched_getaffinity(Pid::from_raw(0)).unwrap_or_default())
}

/// A process that was started for us runs on any processor on which this one may, whatever it inherited.
pub fn set_free(pid: i32) {
    // If it isn't allowed (it has another user) it stays where it may be.
    let _ = sched_setaffinity(Pid::from_raw(pid), own());
}

/// A process may run on the first `most` of these processors only, and is told so when it asks.
pub fn restrict(pid: i32, most: usize) {
    let mut first = CpuSet::new();
    let own = (0..CpuSet::count()).filter(|&n| own().is_set(n) == Ok(true));
    if own.take(most).all(|n| first.set(n).is_ok()) {
        // It fails only if the process is gone.
        let _ = sched_setaffinity(Pid::from_raw(pid), &first);
    }
}

/// Back to where this process may run by itself.
pub fn leave() {
    if let Some(own) = OWN.get() {
        // Nothing depends on it.
        let _ = sched_setaffinity(Pid::from_raw(0), own);
        trap_counter(false);
        cpuid::trap(false);
    }
}

impl Affinity {
    /// Near the master from its first stop on: programs begin with many calls.
    pub fn new() -> Self {
        Self { stops: STOPS - 1, since: Moment::now() }
    }

    /// The master, whose processors these are, has stopped.
    pub fn stopped(&mut self, processor: &mut Processor) {
        self.stops += 1;
        let frequent = self.since.elapsed() < FREQUENT * STOPS;
        if frequent && self.stops < STOPS {
            return;
        }
        (self.stops, self.since) = (0, Moment::now());
        if frequent {
            Self::share_processor(processor);
        } else {
            leave();
            processor.stay_no_longer();
        }
    }

    fn share_processor(masters: &mut Processor) {
        let me = Pid::from_raw(0);
        let Some(processor) = processor_of(masters.tid()) else { return };
        let mut one = CpuSet::new();
        if own().is_set(processor) == Ok(true) && one.set(processor).is_ok() {
            // It fails only where this process may not run there: then it stays where it is.
            let _ = sched_setaffinity(me, &one);
            trap_counter(true);
            cpuid::trap(true);
            masters.stay_on(processor);
        }
    }
}

/// The processor on which a process last ran: the 39th field of its line in /proc.
pub fn processor_of(pid: i32) -> Option<usize> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    line.rsplit_once(')')?.1.split_ascii_whitespace().nth(36)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_shares_a_processor_and_leaves_again() {
        let me = Pid::from_raw(0);
        let before = sched_getaffinity(me).unwrap();
        let mut processor = Processor::new(std::process::id() as i32);
        Affinity::share_processor(&mut processor);
        let near = sched_getaffinity(me).unwrap();
        assert_eq!((0..CpuSet::count()).filter(|&n| near.is_set(n).unwrap()).count(), 1);
        Affinity::share_processor(&mut processor);
        processor.give_back();
        leave();
        assert!(sched_getaffinity(me).unwrap() == before);
    }

    #[test]
    fn a_process_has_as_many_processors_as_it_may_have() {
        let mut child = std::process::Command::new("sleep").arg("100").spawn().unwrap();
        let pid = child.id() as i32;
        let count = || {
            let its = sched_getaffinity(Pid::from_raw(pid)).unwrap();
            (0..CpuSet::count()).filter(|&n| its.is_set(n).unwrap()).count()
        };
        let all = count();
        restrict(pid, 1);
        assert_eq!(count(), 1);
        set_free(pid);
        assert_eq!(count(), all);
        restrict(pid, all + 1);
        assert_eq!(count(), all);
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_has_a_processor() {
        assert!(processor_of(std::process::id() as i32).is_some());
        assert_eq!(processor_of(-1), None);
    }
}
