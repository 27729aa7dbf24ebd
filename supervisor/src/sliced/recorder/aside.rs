//! Calls that the control process makes: what they mean for the recorder, and those at which it mustn't be in the app's memory.

use tracee::{Stop, Stopped};

use super::code::table;
use super::recorder::InProcess;
use crate::base::Failure;

impl InProcess {
    /// The master, which isn't armed, is about to make a call.
    pub fn before(&mut self, stopped: &Stopped, number: u64, args: &[u64; 6]) {
        if !self.is_wanted {
            return;
        }
        // Whether signals come too often is seen when they take it back.
        if !table::is_known(number) && number as i64 != libc::SYS_rt_sigreturn {
            self.policy.other();
        }
        let [first, second, _, fourth, fifth, _] = *args;
        let end = |start: u64, len: u64| start.saturating_add(len);
        match number as i64 {
            libc::SYS_munmap | libc::SYS_mprotect | libc::SYS_pkey_mprotect | libc::SYS_madvise => {
                self.sites.forget(first, end(first, second));
            }
            libc::SYS_mmap if fourth as i32 & libc::MAP_FIXED != 0 => self.sites.forget(first, end(first, second)),
            libc::SYS_mremap => {
                self.sites.forget(first, end(first, second));
                self.sites.forget(fifth, end(fifth, args[2]));
            }
            libc::SYS_shmat => self.sites.forget(0, u64::MAX),
            // From the page in which it starts.
            libc::SYS_remap_file_pages => self.sites.forget(first & !0xfff, end(first, second).saturating_add(0xfff)),
            _ => self.files.before(stopped, number, args),
        }
    }

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
