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

use engine::Control;
use machine::{Gpr, Here};
use syscall_replay::effects::{Range, writable};
use syscall_replay::{OtherThread, Turn, TurnEnd, table};
use translator::abi::Cpu;

use super::SliceSpace;
use crate::ports::{AppThread, SystemCall};
use crate::slice::host::SliceHost;

/// Length of the `syscall` instruction.
const SYSCALL_LEN: u64 = 2;

/// A thread that hasn't the turn.
struct Waiting {
    cpu: Cpu,
    thread: AppThread,
    /// It has executed nothing yet.
    is_new: bool,
    /// If it is in a call: the hash of what that has read.
    entered: Option<u64>,
    /// The call that the tool has been told it makes.
    call: Option<SystemCall>,
}

/// All threads that haven't the turn.
#[derive(Default)]
pub struct OtherThreads {
    all: BTreeMap<u64, Waiting>,
}

impl OtherThreads {
    /// Where the kernel may write for calls that they are in: what it has written already their records bring.
    pub fn written_by_calls(&self) -> Vec<Range> {
        let in_calls = self.all.values().filter(|waiting| waiting.entered.is_some());
        let calls = in_calls.map(|waiting| &waiting.cpu.registers);
        let ranges = calls.flat_map(|registers| {
            let (number, args) = (registers.get(Gpr::Rax), registers.syscall_args());
            writable(&table::lookup(number, &args, &Here::new()), &args, &Here::new())
        });
        ranges.collect()
    }
}

/// What becomes of a thread whose turn it is now.
pub(in crate::slice) enum GoesOn {
    /// It is in a call, of which this is the hash of what it has read.
    InCall(u64),
    /// It executes its next instruction.
    Here,
}

impl SliceHost {
    /// To be called before the first instruction: takes what the log says of threads at its start.
    pub(in crate::slice) fn begin_threads(&mut self, cpu: &mut Cpu) {
        let Some(own) = self.replaying.take(|log| log.thread()) else { return };
        self.thread = known(&own);
        cpu.thread = own.index;
        self.calls.exchange(&mut None, own.index);
        self.take_threads();
    }

    /// Takes the threads of which the log tells here. Gives how many.
    pub(in crate::slice) fn take_threads(&mut self) -> u32 {
        let mut taken = 0;
        while let Some(thread) = self.replaying.take(|log| log.thread()) {
            let waiting = self.waiting(&thread);
            self.others.all.insert(thread.index, waiting);
            taken += 1;
        }
        taken
    }

    fn waiting(&self, thread: &OtherThread<'_>) -> Waiting {
        let Some(xstate) = thread.xstate.load() else {
            self.fail(&"a thread of the app's has registers in use that this processor doesn't have");
        };
        let registers = thread.registers;
        let cpu = Cpu { thread: thread.index, ..Cpu::new(registers, xstate) };
        let call = thread.call.filter(|_| self.calls.is_on()).map(|call| {
            let pc = registers.rip.wrapping_sub(SYSCALL_LEN);
            SystemCall::new(call.number, call.args, pc, &self.memory).by_thread(thread.index)
        });
        let entered = thread.call.map(|call| call.input_hash);
        Waiting { cpu, thread: known(thread), is_new: thread.is_new, entered, call }
    }

    /// If the log says here that another thread goes on: it does. `call`: see `Replayer::turn`.
    pub(in crate::slice) fn turn(
        &mut self,
        call: Option<Option<u64>>,
        cpu: &mut Cpu,
        control: &mut dyn Control,
    ) -> Option<GoesOn> {
        let (memory, files, program_break) = (self.memory, self.files, &mut self.program_break);
        let mut space = SliceSpace { memory, files, program_break, control };
        let registers = cpu.registers;
        match self.replaying.replay(|log| log.turn(call, &registers, &mut space)) {
            Ok(turn) => turn.map(|turn| self.switch(&turn, cpu)),
            Err(divergence) => self.diverged(&divergence),
        }
    }

    fn switch(&mut self, turn: &Turn, cpu: &mut Cpu) -> GoesOn {
        let Some(mut waiting) = self.others.all.remove(&turn.to) else {
            self.fail(&format_args!("thread {} is to go on, which isn't there", turn.to));
        };
        let (entered, is_new) = (waiting.entered, waiting.is_new);
        std::mem::swap(cpu, &mut waiting.cpu);
        std::mem::swap(&mut self.thread, &mut waiting.thread);
        self.calls.exchange(&mut waiting.call, self.thread.number);
        waiting.is_new = false;
        waiting.entered = match turn.end {
            TurnEnd::InCall(call) => Some(call.input_hash),
            TurnEnd::Ready | TurnEnd::Gone => None,
        };
        if turn.end != TurnEnd::Gone {
            self.others.all.insert(waiting.thread.number, waiting);
        }
        self.tool.switch(&self.thread);
        self.told.goes_on(&self.thread, is_new, cpu, self.tool.as_ref());
        entered.map_or(GoesOn::Here, GoesOn::InCall)
    }
}

fn known(thread: &OtherThread<'_>) -> AppThread {
    AppThread::known(thread.index, thread.tid, thread.path(), thread.parent, thread.children)
}
