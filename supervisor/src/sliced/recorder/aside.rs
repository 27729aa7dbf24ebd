//! Calls at which the recorder mustn't be in the app's memory.

use tracee::{Stop, Stopped};

use super::recorder::InProcess;
use crate::base::Failure;

impl InProcess {
    /// Whether it has to stand aside for such a call: one that locks all memory would fill the places of all logs with pages.
    pub fn is_in_the_way_of(&self, number: u64) -> bool {
        self.is_set_up() && number as i64 == libc::SYS_mlockall
    }

    /// Takes it out of a process that is about to make a call. The process makes it again.
    ///
    /// # Errors
    /// If the process was killed.
    pub fn stand_aside(&mut self, mut process: Stopped, gadget: u64) -> Result<Stopped, Failure> {
        let mut again = process.registers()?;
        let mut unmade = again;
        unmade.set_syscall_number(-1);
        process.set_registers(&unmade)?;
        process = process.resume_until(|stop| matches!(stop, Stop::SyscallExit { .. }))?;
        again.rewind_syscall();
        process.set_registers(&again)?;
        self.tear_down(&mut process, gadget)?;
        process.set_registers(&again)?;
        Ok(process)
    }
}
