//! Which of the app's threads goes on, and what each does at its calls.

use engine::{Control, Flow};
use machine::Gpr;
use syscall_replay::{OtherThread, Replayed, Turn, TurnEnd};
use translator::abi::Cpu;

use super::host::{SYSCALL_LEN, SliceHost};
use crate::ports::{AppThread, SignalChange, SystemCall};
use crate::slice::replay::{SliceSpace, Waiting};

/// What becomes of a thread whose turn it is now.
pub enum GoesOn {
    /// It is in a call, of which this is the hash of what it has read.
    InCall(u64),
    /// It executes its next instruction.
    Here,
}

impl SliceHost {
    /// The first thread of the slice goes on, or gives way at once. Tells whether anything is to be executed.
    pub(super) fn first_turn(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let how = self.turn(None, cpu, control).unwrap_or(GoesOn::Here);
        self.go_on(Ok(how), cpu, control)
    }

    /// To be called before the first instruction: takes what the log says of threads at its start.
    pub(super) fn begin_threads(&mut self, cpu: &mut Cpu) {
        let Some(own) = self.replaying.take(|log| log.thread()) else { return };
        self.thread = known(&own);
        self.tool.begins_with(&self.thread);
        cpu.thread = own.index;
        self.calls.exchange(&mut None, own.index);
        self.take_threads();
    }

    /// Takes the threads of which the log tells here. Gives how many.
    pub(super) fn take_threads(&mut self) -> u32 {
        let mut taken = 0;
        while let Some(thread) = self.replaying.take(|log| log.thread()) {
            let waiting = self.waiting(&thread);
            self.others.put(waiting);
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
    pub(super) fn turn(
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
        let Some(mut waiting) = self.others.take(turn.to) else {
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
            self.others.put(waiting);
        }
        self.tool.switch(&self.thread);
        self.told.goes_on(&self.thread, is_new, cpu, self.tool.as_ref());
        entered.map_or(GoesOn::Here, GoesOn::InCall)
    }

    /// The thread whose turn it is makes a call.
    pub(super) fn makes_call(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let outcome = self.make_call(None, cpu, control);
        self.go_on(outcome, cpu, control)
    }

    /// A thread goes on like this: what can be done for it without executing anything is done.
    pub(super) fn go_on(&mut self, mut how: Result<GoesOn, Flow>, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        loop {
            match how {
                Ok(GoesOn::Here) => {
                    self.arm_next(control);
                    return Flow::Continue;
                }
                Ok(GoesOn::InCall(read)) => how = self.make_call(Some(read), cpu, control),
                Err(flow) => return flow,
            }
        }
    }

    /// The thread whose turn it is makes a call, or has entered it before others had the turn, when that read what `entered` is the hash of. Tells how a thread goes on then: it, or
    /// another one. As an error: the engine is left.
    fn make_call(&mut self, entered: Option<u64>, cpu: &mut Cpu, control: &mut dyn Control) -> Result<GoesOn, Flow> {
        if let Some(goes_on) = self.turn(Some(entered), cpu, control) {
            return Ok(goes_on);
        }
        let (number, args) = (cpu.registers.get(Gpr::Rax), cpu.registers.syscall_args());
        let (memory, files, program_break) = (self.memory, self.files, &mut self.program_break);
        let mut space = SliceSpace { memory, files, program_break, control: &mut *control };
        let mut replayed = self.replaying.replay(|log| log.call_of(entered, &mut cpu.registers, &mut space));
        let is_end = number as i64 == libc::SYS_exit;
        if let Ok(Replayed::Done) = replayed
            && is_end
        {
            self.told.ends(&self.thread, args[0], cpu, self.tool.as_ref());
            self.tool.thread_ends();
        } else if let Ok(Replayed::Done | Replayed::Restored(_)) = replayed {
            let Self { images, calls, tool, .. } = self;
            let result = cpu.registers.get(Gpr::Rax);
            images.called(number, args, tool.as_ref(), || calls.made(result, tool.as_ref()));
            (0..self.take_threads()).for_each(|_| self.thread.has_started());
        }
        if let Ok(Replayed::Done) = replayed {
            let mut space =
                SliceSpace { memory, files, program_break: &mut self.program_break, control: &mut *control };
            replayed = self.replaying.replay(|log| log.delivery(&mut cpu.registers, &mut space));
        }
        match replayed {
            Ok(Replayed::Done) => {}
            Ok(Replayed::Restored(xstate)) => {
                self.restore(xstate, cpu);
                let pc = cpu.registers.rip;
                self.tell_of_signal(|_| SignalChange::Return { pc });
            }
            Ok(Replayed::Delivered(xstate, origin)) => {
                self.restore(xstate, cpu);
                self.tell_of_signal(|memory| SignalChange::at_handler(&cpu.registers, origin, memory));
            }
            Ok(Replayed::Exhausted) => return Err(self.call_at_end(cpu, control)),
            Err(divergence) => self.diverged(&divergence),
        }
        match self.turn(None, cpu, control) {
            None if is_end => self.fail(&"a thread has ended, and the log doesn't say which one goes on"),
            goes_on => Ok(goes_on.unwrap_or(GoesOn::Here)),
        }
    }
}

fn known(thread: &OtherThread<'_>) -> AppThread {
    AppThread::known(thread.index, thread.tid, thread.path(), thread.parent, thread.children)
}
