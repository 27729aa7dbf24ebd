//! What is behind the answers of a serial run: calls, signals, processes and threads of the app.

use engine::Host;
use std::sync::atomic::Ordering;

use bubble::shared::{EngineStats, SliceStats};
use engine::{Control, Flow};
use machine::{Gpr, Here, flags};
use syscall_replay::table::{self, Rule};
use syscall_replay::{effects, is_error};
use translator::abi::Cpu;

use super::ending::{Ending, die};
use crate::ports::{Images, OwnSlot, RunningTool, exit_now, raw_syscall};
use crate::serial::calls::{AppCall, Length, Underway, Unmade, interruptible, length_of};
use crate::serial::children::{Child, native};
use crate::serial::memory::{MapsFiles, SelfMem, VirtualCalls, limits, memory, written_files};
use crate::serial::signals::{
    AltStack, Death, FAULTS, InterruptedCall, OfThread, Signals, deliver, set_real_mask, throttle,
};
use crate::serial::threads::{self, Begin, NewThread, Pause, TURNS, ThreadContext, Threads, hook, of_turn};

/// Length of the `syscall` instruction.
const SYSCALL_LEN: u64 = 2;

/// Runs the app.
pub struct SerialHost {
    slot: OwnSlot,
    pub(super) tool: Box<dyn RunningTool>,
    pub(super) images: Images,
    pub(super) signals: Signals,
    pub(super) memory: Here,
    maps: MapsFiles,
    self_mem: SelfMem,
    pub(super) begun: InterruptedCall,
    pub(super) ending: Option<Ending>,
    /// Why the engine was left, if neither the app nor the run is at its end.
    pub(super) pause: Option<Pause>,
    pub(super) threads: Threads,
    /// Processes that the app has started.
    children: u64,
}

impl SerialHost {
    /// A host for the app in this process. To be made after the engine: from here on signals arrive. `begin`: what each further thread starts with.
    pub fn new(mut signals: Signals, slot: OwnSlot, tool: Box<dyn RunningTool>, begin: Begin) -> Self {
        let threads = Threads::first(begin);
        signals.start(threads.first_arrivals(), hook);
        limits::own_data();
        let mut images = Images::default();
        images.begin([0; 2], tool.as_ref());
        Self {
            slot,
            tool,
            images,
            signals,
            memory: Here::new(),
            maps: MapsFiles::default(),
            self_mem: SelfMem::default(),
            begun: InterruptedCall::default(),
            ending: None,
            pause: None,
            threads,
            children: 0,
        }
    }

    /// Hands in the result and ends the process as the app did.
    pub(super) fn finish(&self, engine: EngineStats) -> ! {
        // No handler may find a process that is about to end.
        set_real_mask(!FAULTS);
        let ending = self.ending.unwrap_or(Ending::Exit(0));
        let stats = SliceStats { engine, away: engine::routines::most(), ..self.stats() };
        if let Err(error) = self.slot.publish(self.tool.as_ref(), stats) {
            self.slot.report(&error);
        }
        match ending {
            Ending::Exit(status) => exit_now(status as i32),
            Ending::LastThread(status) => {
                raw_syscall(libc::SYS_exit as u64, [status, 0, 0, 0, 0, 0]);
                unreachable!("exit returned")
            }
            Ending::Signal(signal) => die(signal),
        }
    }

    /// What is counted where the engine's counters aren't at hand.
    fn stats(&self) -> SliceStats {
        SliceStats { children: self.children, threads: self.threads.started, ..SliceStats::default() }
    }

    /// The app does what a serial run can't follow. It goes on natively; the run has no result.
    pub(super) fn give_up(&self, reason: &dyn std::fmt::Display, cpu: &Cpu, control: &mut dyn Control) -> ! {
        if self.threads.are_many() {
            // The others are anywhere in the runtime.
            self.slot.fail(&format_args!("{reason}. With several threads it can't go on natively: it was ended"));
        }
        self.slot.report(reason);
        memory::release_all(control);
        set_real_mask(!FAULTS);
        native::go_native(cpu, &self.signals)
    }

    pub(super) fn end(&mut self, ending: Ending) -> Flow {
        self.ending = Some(ending);
        Flow::Leave
    }

    pub(super) fn after(&mut self, outcome: Result<(), Death>) -> Flow {
        match outcome {
            Ok(()) => Flow::Continue,
            Err(Death(signal)) => self.end(Ending::Signal(signal)),
        }
    }

    /// Gives the app the signal that waits, if one does.
    pub(super) fn deliver_waiting(
        &mut self,
        waiting_mask: Option<u64>,
        cpu: &mut Cpu,
        control: &mut dyn Control,
    ) -> Flow {
        let Some(arrived) = self.signals.arrivals.take() else { return Flow::Continue };
        let outcome = deliver::arrived(&mut self.signals, &arrived, waiting_mask, cpu, control);
        self.begun.handler(cpu.registers.rsp());
        self.after(outcome)
    }

    /// The call was not made because a signal came first: the handler interrupts just before it. One that the kernel makes again has been made
    /// to the app, and is made by the same instruction once more.
    fn deliver_before_call(&mut self, why: Unmade, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let behind = cpu.registers.rip;
        if why == Unmade::Restarts {
            cpu.registers.finish_syscall(cpu.registers.get(Gpr::Rax));
        }
        let pc = behind.wrapping_sub(SYSCALL_LEN);
        cpu.registers.rip = pc;
        let flow = self.deliver_waiting(None, cpu, control);
        if why == Unmade::Restarts || flow == Flow::Leave {
            return flow;
        }
        if cpu.registers.rip == pc {
            // Nobody wants the signal.
            cpu.registers.rip = behind;
            return self.syscall(cpu, control);
        }
        self.begun.before_call(cpu.registers.rsp(), pc);
        flow
    }

    /// `rt_sigreturn`.
    pub(super) fn return_from_handler(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        // The return has popped its own address.
        let started_with = cpu.registers.rsp().wrapping_sub(8);
        let outcome = deliver::sigreturn(&mut self.signals, cpu, self.threads.started == 0);
        let pc = cpu.registers.rip;
        if outcome.is_ok() && cpu.registers.rflags & flags::TF != 0 {
            self.give_up(&engine::TRAP_FLAG, cpu, control);
        }
        if outcome.is_ok() && self.begun.returned(started_with, pc) && self.is_syscall(pc) {
            cpu.registers.rip = pc.wrapping_add(SYSCALL_LEN);
            return self.syscall(cpu, control);
        }
        self.after(outcome)
    }

    fn is_syscall(&self, pc: u64) -> bool {
        use machine::Memory;
        let mut code = [0; SYSCALL_LEN as usize];
        self.memory.read(pc, &mut code).is_ok() && code == [0x0f, 0x05]
    }

    pub(super) fn virtual_calls(&mut self) -> VirtualCalls<'_> {
        VirtualCalls { signals: &mut self.signals, maps: &mut self.maps, memory: self.memory }
    }

    pub(super) fn finished(&mut self, result: u64, cpu: &mut Cpu) -> Flow {
        cpu.registers.finish_syscall(result);
        Flow::Continue
    }

    /// Signals aren't held back any more.
    pub(super) fn let_signals_in(&mut self) {
        if throttle::is_on() {
            self.signals.set_mask(self.signals.mask());
        }
    }

    /// Such a call is about to be made. If signals are held back they are let in where it may wait for them, or tells of them.
    fn let_signals_in_at(&mut self, call: &AppCall) {
        if !throttle::is_on() || threads::never_waits(call) {
            return;
        }
        if throttle::waits(self.signals.mask()) {
            throttle::let_in_at_next_call();
        } else {
            self.let_signals_in();
        }
    }

    /// A call without a meaning for us.
    pub(super) fn execute(&mut self, rule: &Rule, call: AppCall, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let written = effects::writable(rule, &call.args, &self.memory);
        for range in &written {
            control.before_write(range.address, range.len);
        }
        let writes_unseen = self.self_mem.is_written_by(&call);
        if writes_unseen {
            memory::release_all(control);
        }
        let waiting_mask = call.waiting_mask(&self.memory);
        let needs_turn = writes_unseen || table::may_kill(call.number, &call.args);
        self.make_call(Underway { call, written, writes_unseen, waiting_mask, needs_turn }, cpu, control)
    }

    /// What is left to be done once such a call was made.
    pub(super) fn executed(
        &mut self,
        underway: Underway,
        result: Result<u64, Unmade>,
        cpu: &mut Cpu,
        control: &mut dyn Control,
    ) -> Flow {
        let Underway { call, written, writes_unseen, waiting_mask, .. } = underway;
        for range in written {
            control.call_ends(range.address, range.len);
        }
        let result = match result {
            Ok(result) => result,
            Err(why) => return self.deliver_before_call(why, cpu, control),
        };
        if writes_unseen {
            memory::changed_anywhere(control);
        }
        if !is_error(result) {
            self.maps.after(&call, result, &self.memory);
            self.self_mem.after(&call, result);
            written_files::opened_by(&call, result).into_iter().for_each(|inode| control.file_may_change(inode));
        }
        cpu.registers.finish_syscall(result);
        self.let_signals_in();
        let interrupted = result as i64 == -i64::from(libc::EINTR);
        self.deliver_waiting(waiting_mask.filter(|_| interrupted), cpu, control)
    }

    /// A call that may kill this process at once: the result is handed in before.
    pub(super) fn kill(&mut self, rule: &Rule, call: AppCall, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        if let Err(error) = self.slot.publish(self.tool.as_ref(), self.stats()) {
            self.slot.fail(&error);
        }
        let flow = self.execute(rule, call, cpu, control);
        self.slot.unpublish();
        flow
    }

    pub(super) fn exec(&mut self, call: AppCall, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        if let Err(error) = self.slot.publish(self.tool.as_ref(), self.stats()) {
            self.give_up_before_call(&error, cpu, control);
        }
        threads::before_exec();
        // Also ends the holding back of signals. The new program inherits the mask, so it must be the app's, fault signals included.
        set_real_mask(self.signals.mask());
        let outcome = interruptible(call.number, call.args, self.signals.arrivals.flag());
        self.slot.unpublish();
        self.signals.set_mask(self.signals.mask());
        match outcome {
            Err(why) => self.deliver_before_call(why, cpu, control),
            Ok(result) => self.finished(result, cpu),
        }
    }

    pub(super) fn start_process(&mut self, call: AppCall, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let Some(child) = Child::of(&call, cpu, &self.memory) else {
            self.give_up_before_call(&SHARED_MEMORY, cpu, control);
        };
        set_real_mask(!FAULTS);
        if self.signals.arrivals.flag().load(Ordering::Acquire) != 0 {
            return self.deliver_before_call(Unmade::NotEntered, cpu, control);
        }
        memory::release_all(control);
        if !child.shares_memory {
            control.shared_memory_may_change();
        }
        self.slot.set_child_at(child.cpu.registers.rip);
        let result = native::split(call.number, call.args, &child.cpu, &self.signals, child.dispositions);
        self.children += u64::from(!is_error(result));
        self.signals.set_mask(self.signals.mask());
        if child.shares_memory {
            control.look_again();
        }
        cpu.registers.finish_syscall(result);
        self.deliver_waiting(None, cpu, control)
    }

    /// The app has called a function of the vsyscall page. The kernel makes the system call and returns.
    pub(super) fn vsyscall(&mut self, number: i64, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        use machine::Memory;
        let Ok(back) = self.memory.read_u64(cpu.registers.rsp()) else {
            return self.end(Ending::Signal(libc::SIGSEGV));
        };
        let call = AppCall { number: number as u64, args: cpu.registers.syscall_args() };
        for range in effects::writable(&table::lookup(call.number, &call.args, &self.memory), &call.args, &self.memory)
        {
            control.before_write(range.address, range.len);
        }
        cpu.registers.set(Gpr::Rax, raw_syscall(call.number, call.args));
        cpu.registers.set(Gpr::Rsp, cpu.registers.rsp().wrapping_add(8));
        cpu.registers.rip = back;
        Flow::Continue
    }

    /// [`Self::give_up`] at a call that native code is to make.
    fn give_up_before_call(&self, reason: &dyn std::fmt::Display, cpu: &mut Cpu, control: &mut dyn Control) -> ! {
        cpu.registers.rip = cpu.registers.rip.wrapping_sub(SYSCALL_LEN);
        self.give_up(reason, cpu, control)
    }
}

const SHARED_MEMORY: &str = "the app starts a process that runs at the same time in the same memory, which serial mode doesn't follow yet; \
    it went on natively, there is no total";

impl SerialHost {
    pub(super) fn exchange(&mut self, state: &mut ThreadContext) {
        self.signals.exchange(&mut state.signals);
        std::mem::swap(&mut self.begun, &mut state.begun);
    }

    /// Leaves the engine.
    fn pause(&mut self, pause: Pause) -> Flow {
        self.pause = Some(pause);
        Flow::Leave
    }

    /// Makes a call, at once or when the engine was left.
    pub(crate) fn make_call(&mut self, mut call: Underway, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let with_turn = !self.threads.are_many() || call.needs_turn || length_of(&call.call) == Length::Instant;
        if !with_turn {
            for range in &call.written {
                control.call_begins(range.address, range.len);
            }
            return self.pause(Pause::Call(call));
        }
        call.written.clear();
        self.let_signals_in_at(&call.call);
        let result = interruptible(call.call.number, call.call.args, self.signals.arrivals.flag());
        self.executed(call, result, cpu, control)
    }

    /// The thread has been interrupted: gives its turn up if that is why.
    pub(crate) fn give_turn_if_asked(&mut self) -> Flow {
        if TURNS.is_asked_for(&of_turn().waiter) { self.pause(Pause::Turn) } else { Flow::Continue }
    }

    /// A call that starts a thread.
    pub(crate) fn start_thread(&mut self, call: AppCall, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let Some(new) = NewThread::of(&call, cpu, &self.memory) else {
            return self.finished(-i64::from(libc::EFAULT) as u64, cpu);
        };
        set_real_mask(u64::MAX);
        if self.signals.arrivals.flag().load(Ordering::Acquire) != 0 {
            set_real_mask(!FAULTS);
            return self.deliver_before_call(Unmade::NotEntered, cpu, control);
        }
        for word in &new.written {
            control.before_write(*word, 4);
        }
        let block = self.threads.block();
        let signals = OfThread { mask: self.signals.mask(), altstack: AltStack::NONE, arrivals: &block.arrivals };
        let state = ThreadContext { cpu: new.cpu.clone(), signals, begun: InterruptedCall::default() };
        // SAFETY: its thread doesn't exist yet.
        unsafe { block.put(Box::new(state)) };
        let result = new.start(block, self.threads.begin);
        if is_error(result) {
            block.is_used().store(0, Ordering::Release);
        } else {
            block.waiter.tid.store(result as i32, Ordering::Relaxed);
            self.threads.alive += 1;
            self.threads.started += 1;
        }
        set_real_mask(!FAULTS);
        self.signals.set_mask(self.signals.mask());
        cpu.registers.finish_syscall(result);
        self.deliver_waiting(None, cpu, control)
    }

    /// `exit`: the end of this thread, and of the process if it is the last one.
    pub(crate) fn end_thread(&mut self, status: u64, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        // What comes from now on is for other threads. What has come is this one's.
        set_real_mask(!FAULTS);
        if self.signals.arrivals.flag().load(Ordering::Acquire) != 0 {
            return self.deliver_before_call(Unmade::NotEntered, cpu, control);
        }
        if !self.threads.are_many() {
            return self.end(Ending::LastThread(status));
        }
        self.threads.alive -= 1;
        self.pause(Pause::End(status))
    }
}
