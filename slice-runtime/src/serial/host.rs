//! What is behind the answers of a serial run: calls, signals, processes and threads of the app.

use engine::Host;
use std::sync::atomic::Ordering;

use bubble::boot::State;
use engine::{Control, Flow, write_app};
use machine::{Gpr, Here, flags};
use syscall_replay::table::{self, Rule};
use syscall_replay::{effects, is_error};
use translator::abi::Cpu;

use super::ending::Ending;
use crate::ports::{
    AppThread, Calls, Images, OwnSlot, RunningTool, SignalChange, ThreadsTold, header, raw_syscall, signals_behind,
};
use crate::serial::calls::{AppCall, ChangedCalls, Underway, Unmade, interruptible, tell_places};
use crate::serial::children::{Child, native};
use crate::serial::memory::{MapsFiles, SelfMem, VirtualCalls, limits, memory, written_files};
use crate::serial::signals::{Death, FAULTS, InterruptedCall, Signals, deliver, set_real_mask, throttle};
use crate::serial::threads::{self, Begin, Pause, Threads, hook};

/// Length of the `syscall` instruction.
pub(super) const SYSCALL_LEN: u64 = 2;

/// Runs the app.
pub struct SerialHost {
    pub(super) slot: OwnSlot,
    pub(super) tool: Box<dyn RunningTool>,
    pub(super) images: Images,
    pub(super) calls: Calls,
    pub(super) changed: ChangedCalls,
    pub(super) signals: Signals,
    pub(super) memory: Here,
    maps: MapsFiles,
    self_mem: SelfMem,
    pub(super) begun: InterruptedCall,
    pub(super) ending: Option<Ending>,
    /// Why the engine was left, if neither the app nor the run is at its end.
    pub(super) pause: Option<Pause>,
    pub(super) threads: Threads,
    /// The thread whose turn it is, and whether it hasn't begun.
    pub(super) thread: (AppThread, bool),
    pub(super) told: ThreadsTold,
    /// Processes that the app has started.
    pub(super) children: u64,
    /// Behind the region the app goes on natively.
    pub(super) ends_with_region: bool,
}

impl SerialHost {
    /// A host for the app in this process. To be made after the engine: from here on signals arrive. `begin`: what each further thread starts with.
    /// `state`: what it goes on from, which is in `cpu` already.
    pub fn new(
        mut signals: Signals,
        slot: OwnSlot,
        tool: Box<dyn RunningTool>,
        begin: Begin,
        (state, cpu): (&State, &Cpu),
    ) -> Self {
        let threads = Threads::first(begin);
        let (thread, mut told) = (AppThread::first(state.tid as i32), ThreadsTold::default());
        told.goes_on(&thread, state.begins_program(), cpu, tool.as_ref());
        let behind = &state.behind;
        signals.start(threads.first_arrivals(), hook);
        limits::own_data();
        threads::tell_place(slot.places());
        tell_places(slot.places());
        let mut images = Images::default();
        let mut calls = Calls::new(tool.as_ref());
        images.begin(behind.mapped(), tool.as_ref(), || calls.behind(behind.made(), tool.as_ref()));
        signals_behind(behind, &cpu.registers, &Here::new(), tool.as_ref());
        let changed = ChangedCalls::new(tool.changes_calls());
        Self {
            slot,
            changed,
            tool,
            images,
            calls,
            signals,
            memory: Here::new(),
            maps: MapsFiles::default(),
            self_mem: SelfMem::default(),
            begun: InterruptedCall::default(),
            ending: None,
            pause: None,
            threads,
            thread: (thread, false),
            told,
            children: 0,
            // SAFETY: CONTROL is mapped in a taken-over process.
            ends_with_region: unsafe { header() }.departs != 0,
        }
    }

    /// The app does what a serial run can't follow. It goes on natively; the run has no result.
    pub(super) fn give_up(&self, reason: &dyn std::fmt::Display, cpu: &Cpu, control: &mut dyn Control) -> ! {
        if self.threads.are_many() {
            // The others are anywhere in the runtime.
            self.slot.fail(&format_args!("{reason}. With several threads it can't go on natively: it was ended"));
        }
        if control.returns_to_tool() {
            self.slot.fail(&format_args!("{reason}. It can't go on natively either: the tool has called its code"));
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

    pub(super) fn after(&mut self, outcome: Result<(), Death>, cpu: &Cpu) -> Flow {
        match outcome {
            Ok(()) => Flow::Continue,
            Err(death) => self.dies(death, cpu),
        }
    }

    /// A signal ends the app.
    fn dies(&mut self, Death { signal, origin }: Death, cpu: &Cpu) -> Flow {
        let rip = cpu.registers.rip;
        // A call that it has broken off would be made again.
        let pc = if self.is_syscall(rip) { rip + SYSCALL_LEN } else { rip };
        self.tell_of_signal(SignalChange::Fatal { signal, origin, pc });
        self.end(Ending::Signal(signal))
    }

    /// Gives the app the signal that waits, if one does.
    pub(super) fn deliver_waiting(
        &mut self,
        waiting_mask: Option<u64>,
        cpu: &mut Cpu,
        control: &mut dyn Control,
    ) -> Flow {
        let Some(arrived) = self.signals.arrivals.take() else { return Flow::Continue };
        let Some(arrived) = self.change_signal(arrived, cpu, control) else {
            self.signals.set_mask(self.signals.mask());
            return Flow::Continue;
        };
        if self.calls.is_open() && self.signals.handles(arrived.signal) {
            // It was broken off. To the app it has failed, whether it is made again or not.
            self.calls.made(-i64::from(libc::EINTR) as u64, self.tool.as_ref());
        }
        let outcome = deliver::arrived(&mut self.signals, &arrived, waiting_mask, cpu, control);
        self.begun.handler(cpu.registers.rsp());
        if outcome == Ok(true) {
            self.tell_of_handler(&arrived.info, cpu);
        }
        self.after(outcome.map(|_| ()), cpu)
    }

    /// The call was not made because a signal came first: the handler interrupts just before it. One that the kernel makes again has been made
    /// to the app, and is made by the same instruction once more.
    pub(super) fn deliver_before_call(&mut self, why: Unmade, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let behind = cpu.registers.rip;
        if why == Unmade::Restarts {
            cpu.registers.finish_syscall(cpu.registers.get(Gpr::Rax));
        }
        let pc = behind.wrapping_sub(SYSCALL_LEN);
        cpu.registers.rip = pc;
        if self.departs() {
            if why == Unmade::GoesOn {
                cpu.registers.set(Gpr::Rax, libc::SYS_restart_syscall as u64);
            }
            return self.depart_if_asked();
        }
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
        self.changed.forget();
        let outcome = deliver::sigreturn(&mut self.signals, cpu, self.threads.started == 0);
        let pc = cpu.registers.rip;
        if outcome.is_ok() {
            self.calls.made(cpu.registers.get(Gpr::Rax), self.tool.as_ref());
            self.tell_of_signal(SignalChange::Return { pc });
        }
        if outcome.is_ok() && cpu.registers.rflags & flags::TF != 0 {
            self.give_up(&engine::TRAP_FLAG, cpu, control);
        }
        if outcome.is_ok() && self.begun.returned(started_with, pc) && self.is_syscall(pc) {
            cpu.registers.rip = pc.wrapping_add(SYSCALL_LEN);
            return self.syscall(cpu, control);
        }
        self.after(outcome, cpu)
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
        let result = self.change_result_at_once(result);
        self.calls.made(result, self.tool.as_ref());
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
    pub(super) fn let_signals_in_at(&mut self, call: &AppCall) {
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
        let interrupted = result as i64 == -i64::from(libc::EINTR);
        let result = self.change_result(result, &mut |address, bytes| write_app(control, address, bytes));
        cpu.registers.finish_syscall(result);
        self.tell_of_result(result, interrupted);
        self.let_signals_in();
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
        if !child.shares_memory && control.returns_to_tool() {
            self.slot.fail(&FORKS_FOR_TOOL);
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
        self.finished(result, cpu);
        self.deliver_waiting(None, cpu, control)
    }

    /// The app has called a function of the vsyscall page. The kernel makes the system call and returns.
    pub(super) fn vsyscall(&mut self, number: i64, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        use machine::Memory;
        let Ok(back) = self.memory.read_u64(cpu.registers.rsp()) else {
            return self.dies(Death::without_frame(), cpu);
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

const FORKS_FOR_TOOL: &str = "the app starts a process in a routine that the tool has called (App::call, Replaced::original): the child, in which there is no tool, would return to it. \
    Change what such a routine is given and returns (InstructionMut::change) instead of calling it";
