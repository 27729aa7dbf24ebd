//! Who a thread of the master's is, and where it stands while another one has the turn: what logs tell of threads.

use machine::{LaidOut, Registers, XState};
use syscall_replay::{OtherThread, WaitingCall};
use tracee::{Stopped, TraceError};

/// Who a thread is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The kernel's number of it.
    tid: i32,
    /// In the order in which they were started in this process: 0 of the first one.
    index: u64,
    /// Index of the thread that has started it.
    parent: Option<u64>,
    /// Which child each was of the one before, counted from 1.
    path: Vec<u32>,
    /// Threads that it has started.
    children: u32,
    /// It has executed nothing yet.
    is_new: bool,
    /// Address of the word that is cleared when it ends; 0: none is.
    cleared: u64,
}

impl Identity {
    /// The first thread of process `pid`.
    pub fn first(pid: i32) -> Self {
        Self { tid: pid, index: 0, parent: None, path: Vec::new(), children: 0, is_new: false, cleared: 0 }
    }

    /// The next one that it starts.
    pub fn child(&mut self, index: u64, tid: i32, cleared: u64) -> Self {
        self.children += 1;
        let path = self.path.iter().copied().chain([self.children]).collect();
        Self { tid, index, parent: Some(self.index), path, children: 0, is_new: true, cleared }
    }

    /// The kernel's number of it.
    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// It is about to execute its first instruction, or has long since.
    pub fn goes_on(&mut self) {
        self.is_new = false;
    }

    /// Address of the word that is cleared when it ends; 0: none is.
    pub fn cleared(&self) -> u64 {
        self.cleared
    }

    /// It has named that word.
    pub fn clears(&mut self, address: u64) {
        self.cleared = address;
    }

    /// Its index.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Lets the log tell of it, in this state.
    pub fn told<T>(&self, context: &Context, tell: impl FnOnce(&OtherThread<'_>) -> T) -> T {
        let path: Vec<u8> = self.path.iter().flat_map(|word| u64::from(*word).to_le_bytes()).collect();
        tell(&OtherThread {
            index: self.index,
            tid: self.tid,
            parent: self.parent,
            children: self.children,
            path: &path,
            registers: context.registers,
            xstate: LaidOut::own(&context.xstate.bytes),
            call: context.call,
            is_new: self.is_new,
        })
    }
}

/// Where a thread stands.
#[derive(Clone)]
pub struct Context {
    /// At its next instruction, or at the entry of its call.
    pub registers: Registers,
    /// Its extended state.
    xstate: Box<XState>,
    /// The call in which it is.
    call: Option<WaitingCall>,
}

impl Context {
    /// It goes on from where it stands.
    ///
    /// # Errors
    /// If it was killed.
    pub fn here(stopped: &Stopped) -> Result<Box<Self>, TraceError> {
        Ok(Box::new(Self { registers: stopped.registers()?.app(), xstate: stopped.xstate()?, call: None }))
    }

    /// It stands at the entry of this call, with these registers.
    ///
    /// # Errors
    /// If it was killed.
    pub fn in_call(stopped: &Stopped, registers: Registers, call: WaitingCall) -> Result<Box<Self>, TraceError> {
        Ok(Box::new(Self { registers, xstate: stopped.xstate()?, call: Some(call) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_who_has_started_it() {
        let mut first = Identity::first(7);
        let mut one = first.child(1, 8, 0x10);
        let two = first.child(2, 9, 0);
        let of_one = one.child(3, 10, 0);
        assert_eq!((&one.path[..], &two.path[..], &of_one.path[..]), (&[1][..], &[2][..], &[1, 1][..]));
        assert_eq!((first.children, one.children, of_one.parent, one.cleared), (2, 1, Some(1), 0x10));
    }
}
