//! What a serial run hands in when it ends.

use bubble::shared::SliceStats;
use engine::Runner;

use super::parallel;
use crate::ports::{exit_now, raw_syscall};
use crate::serial::ending::{Ending, die};
use crate::serial::host::SerialHost;
use crate::serial::signals::{FAULTS, set_real_mask};

impl SerialHost {
    /// Hands in the result and ends the process as the app did.
    pub(super) fn finish(&mut self, engine: &mut Runner) -> ! {
        // No handler may find a process that is about to end.
        set_real_mask(!FAULTS);
        let ending = self.ending.unwrap_or(Ending::Exit(0));
        parallel::stop_others(self);
        self.hand_in(std::hint::black_box(engine));
        match ending {
            Ending::Exit(status) => exit_now(status as i32),
            Ending::LastThread(status) => {
                raw_syscall(libc::SYS_exit as u64, [status, 0, 0, 0, 0, 0]);
                unreachable!("exit returned")
            }
            Ending::Signal(signal) => die(signal),
        }
    }

    /// Hands in the result. The tool isn't used any more.
    pub(in crate::serial) fn hand_in(&self, engine: &Runner) {
        let stats = SliceStats { engine: engine.stats(), away: engine.routines(), ..self.stats() };
        if let Err(error) = self.slot.publish(self.tool.as_ref(), stats) {
            self.slot.report(&error);
        }
    }

    /// What is counted where the engine's counters aren't at hand.
    pub(in crate::serial) fn stats(&self) -> SliceStats {
        SliceStats { children: self.children, threads: self.threads.started, ..SliceStats::default() }
    }
}
