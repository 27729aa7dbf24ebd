//! A system call of the app's, and one that is being made.

use syscall_replay::effects::Range;

/// A system call of the app's.
#[derive(Clone, Copy)]
pub struct AppCall {
    pub(in crate::serial) number: u64,
    pub(in crate::serial) args: [u64; 6],
}

/// A call that is made, or about to be.
pub struct Underway {
    pub(in crate::serial) call: AppCall,
    /// Where it may write while others run.
    pub(in crate::serial) written: Vec<Range>,
    /// It writes the app's memory without its arguments saying where.
    pub(in crate::serial) writes_unseen: bool,
    /// See [`AppCall::waiting_mask`].
    pub(in crate::serial) waiting_mask: Option<u64>,
    /// No other thread may run meanwhile.
    pub(in crate::serial) needs_turn: bool,
}

impl AppCall {
    /// The mask that the call sets while it waits; a handler that interrupts it starts with that one blocked.
    pub fn waiting_mask(&self, memory: &dyn machine::Memory) -> Option<u64> {
        let [a, _, _, d, e, f] = self.args;
        let pointer = match self.number as i64 {
            libc::SYS_rt_sigsuspend => a,
            libc::SYS_ppoll => d,
            libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => e,
            // A pointer to a pointer and a size.
            libc::SYS_pselect6 if f != 0 => memory.read_u64(f).unwrap_or(0),
            _ => 0,
        };
        (pointer != 0).then(|| memory.read_u64(pointer).ok()).flatten()
    }
}
