//! The app's threads in a slice: one has the turn, the others are put away until the log says that they go on.
//!
//! A slice is one thread of the kernel's, whose engine has the state of the app's thread that has the turn.
//!
//! ```text
//!   log      call of 0 │ turn: 0 in futex, 1 goes on │ calls of 1 │ turn: 1 in read, 0 goes on │ result of 0's futex
//!   engine   ═ thread 0 ═══════╗                     ╔═ thread 0 ═════
//!                              ╚═ thread 1 ══════════╝
//! ```

use std::collections::BTreeMap;

use machine::{Gpr, Here};
use syscall_replay::effects::{Range, writable};
use syscall_replay::table;
use syscall_replay::threads::only_waits;
use translator::abi::Cpu;

use crate::ports::{AppThread, SystemCall};

/// Bytes below the stack pointer that belong to the app.
const RED_ZONE: u64 = 128;

/// A thread that hasn't the turn.
pub struct Waiting {
    /// Its state.
    pub cpu: Cpu,
    /// Who it is.
    pub thread: AppThread,
    /// It has executed nothing yet.
    pub is_new: bool,
    /// If it is in a call: the hash of what that has read.
    pub entered: Option<u64>,
    /// The call that the tool has been told it makes.
    pub call: Option<SystemCall>,
}

/// All threads that haven't the turn.
#[derive(Default)]
pub struct OtherThreads {
    all: BTreeMap<u64, Waiting>,
}

impl OtherThreads {
    /// Another one.
    pub fn put(&mut self, waiting: Waiting) {
        self.all.insert(waiting.thread.number, waiting);
    }

    /// That one, which goes on.
    pub fn take(&mut self, index: u64) -> Option<Waiting> {
        self.all.remove(&index)
    }

    /// Where the live stack of the first thread begins, if that is one of them.
    pub fn first_lives_from(&self) -> Option<u64> {
        self.all.get(&0).map(|first| first.cpu.registers.rsp().saturating_sub(RED_ZONE) & !7)
    }

    /// Where the kernel may write for calls that they are in: what it has written already their records bring.
    pub fn written_by_calls(&self) -> Vec<Range> {
        self.calls().flat_map(|(number, args)| written(number, &args)).collect()
    }

    /// The same without words that are only waited for: other processes alone write to these meanwhile.
    pub fn written_by_kernel(&self) -> Vec<Range> {
        let calls = self.calls().filter(|(number, args)| !only_waits(*number, args));
        calls.flat_map(|(number, args)| written(number, &args)).collect()
    }

    fn calls(&self) -> impl Iterator<Item = (u64, [u64; 6])> {
        let in_calls = self.all.values().filter(|waiting| waiting.entered.is_some());
        in_calls.map(|Waiting { cpu, .. }| (cpu.registers.get(Gpr::Rax), cpu.registers.syscall_args()))
    }
}

fn written(number: u64, args: &[u64; 6]) -> Vec<Range> {
    writable(&table::lookup(number, args, &Here::new()), args, &Here::new())
}
