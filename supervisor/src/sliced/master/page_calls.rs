//! Calls of the vsyscall page: made for the master, and recorded as any other.

use machine::{Gpr, Memory};
use syscall_replay::{Exit as Recorded, table};
use tracee::{Remote, Stopped};

use super::master::Master;
use super::signals::allow_breakpoint_again;
use crate::base::Failure;
use crate::report::Boundary;
use crate::sliced::boundaries::{Next, Then, cut_here};
use crate::sliced::slices::Recording;

/// More than such a call's record needs.
const ROOM: usize = 4096;

impl Master {
    /// The master stands before a call through a register, perhaps of the page. There are no breakpoint instructions in its code.
    pub(in crate::sliced) fn call_of_page(&mut self, stopped: Stopped, slice: &mut Recording) -> Result<Next, Failure> {
        let pid = self.pid;
        if slice.room() < ROOM {
            let mut stopped = stopped;
            allow_breakpoint_again(&mut stopped)?;
            return cut_here(stopped, Boundary::Log, Then::Fork);
        }
        let mut stopped = stopped.step()?;
        self.random.traps.set(&mut stopped);
        self.last_recorded = None;
        let mut registers = stopped.registers()?;
        let mut app = registers.app();
        let Some(number) = table::vsyscall(app.rip) else { return Ok(Next::Resume(stopped, 0)) };
        let args = app.syscall_args();
        let back = stopped.read_u64(app.rsp()).map_err(|source| tracee::TraceError::Memory { pid, source })?;
        let entered = self.recorder.enter(number as u64, args, &stopped);
        let result = Remote::new(&mut stopped, self.prepared.gate)?.call(number, args)?;
        if result < 0 {
            // The kernel raises a signal instead.
            return Ok(Next::Resume(stopped, 0));
        }
        let recorder = &mut self.recorder;
        match slice.log(|log| recorder.exit(entered.pending, result as u64, &stopped, log, &mut self.files)) {
            Recorded::Recorded => {}
            _ => return Err(Failure::Unsupported("a call of the vsyscall page could not be recorded".into())),
        }
        app.set(Gpr::Rax, result as u64);
        app.set(Gpr::Rsp, app.rsp() + 8);
        app.rip = back;
        registers.set_app(&app);
        stopped.set_registers(&registers)?;
        Ok(Next::Resume(stopped, 0))
    }
}
