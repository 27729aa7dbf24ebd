//! The guest of a serial run: the app itself, under translation.
//!
//! Its system calls are made for real, with the app's own arguments. What must not become real is virtual: signal
//! dispositions, the alternate stack and part of the mask (the engine needs signals itself), the segment bases, and what the
//! system call table refuses in every mode.
//!
//! * [`calls`] makes calls so that a signal that comes at any moment is delivered before or after, never lost.
//! * [`arrival`], [`actions`], [`deliver`] and [`frame`] are the app's signals.
//! * [`hold`] has the app get on where signals come all the time.
//! * [`native`] lets children go: they run natively from their first instruction on.
//! * [`threads`]: the app's threads take turns.
//! * [`written_files`] notices files that the app may write: code may be mapped from them.
//! * [`memory`] shapes the address space, [`maps`] hides the image from those who look at it.
//!
//! The result is handed in before anything after which this image doesn't run any more: exec, exit, a fatal signal.

mod actions;
mod arrival;
mod begun;
mod calls;
mod child;
mod deliver;
mod frame;
mod hold;
mod limits;
mod maps;
mod memory;
mod native;
mod own_memory;
mod threads;
mod written_files;

use bubble::shared::SliceStats;
use engine::{Control, Fault, Flow, Guest, Volatile};
use machine::{Gpr, Here, flags};
use syscall_replay::effects::Range;
use syscall_replay::table::{self, Class, Rule, Special};
use syscall_replay::{effects, is_error};
use translator::abi::Cpu;
use translator::trace::{Instrument, Trace};

use crate::slot::{OwnSlot, exit_now};
use crate::tool::RunningTool;

pub use actions::Signals;
use actions::{Action, set_real_action, set_real_mask};
use arrival::FAULTS;
use begun::Begun;
use calls::Unmade;
pub(crate) use calls::{execute_cpuid, raw_syscall};
use child::Child;
use deliver::Death;
pub(crate) use deliver::grow_stack;
pub use frame::use_area;
pub(crate) use limits::limit_open_files;
use maps::MapsFiles;
use own_memory::OwnMemory;
pub(crate) use threads::run;
use threads::{Pause, Threads};
pub(crate) use written_files::open_at_start;

/// Length of the `syscall` instruction.
const SYSCALL_LEN: u64 = 2;

/// How the app ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Exit(u64),
    /// `exit` by the only thread that is left. Which thread's status is the process's the kernel knows: older ones take that of the first,
    /// newer ones that of the last.
    LastThread(u64),
    Signal(i32),
}

/// Runs the app.
pub struct SerialGuest {
    slot: OwnSlot,
    tool: Box<dyn RunningTool>,
    signals: Signals,
    memory: Here,
    maps: MapsFiles,
    own_memory: OwnMemory,
    begun: Begun,
    ending: Option<Ending>,
    /// Why the engine was left, if neither the app nor the run is at its end.
    pause: Option<Pause>,
    threads: Threads,
    /// Processes that the app has started.
    children: u64,
}

impl SerialGuest {
    /// A guest for the app in this process. To be made after the engine: from here on signals arrive.
    pub fn new(mut signals: Signals, slot: OwnSlot, tool: Box<dyn RunningTool>) -> Self {
        let threads = Threads::first();
        signals.start();
        limits::own_data();
        Self {
            slot,
            tool,
            signals,
            memory: Here::new(),
            maps: MapsFiles::default(),
            own_memory: OwnMemory::default(),
            begun: Begun::default(),
            ending: None,
            pause: None,
            threads,
            children: 0,
        }
    }

    /// Hands in the result and ends the process as the app did.
    fn finish(&self, stats: SliceStats) -> ! {
        // No handler may find a process that is about to end.
        set_real_mask(!FAULTS);
        let ending = self.ending.unwrap_or(Ending::Exit(0));
        let stats = SliceStats { children: self.children, threads: self.threads.started, ..stats };
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
    fn give_up(&self, reason: &dyn std::fmt::Display, cpu: &Cpu, control: &mut dyn Control) -> ! {
        if self.threads.are_many() {
            // The others are anywhere in the runtime.
            self.slot.fail(&format_args!("{reason}. With several threads it can't go on natively: it was ended"));
        }
        self.slot.report(reason);
        memory::release_all(control);
        set_real_mask(!FAULTS);
        native::go_native(cpu, &self.signals)
    }

    fn end(&mut self, ending: Ending) -> Flow {
        self.ending = Some(ending);
        Flow::Leave
    }

    fn after(&mut self, outcome: Result<(), Death>) -> Flow {
        match outcome {
            Ok(()) => Flow::Continue,
            Err(Death(signal)) => self.end(Ending::Signal(signal)),
        }
    }

    /// Gives the app the signal that waits, if one does.
    fn deliver_waiting(&mut self, waiting_mask: Option<u64>, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let Some(arrived) = arrival::take() else { return Flow::Continue };
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
    fn return_from_handler(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
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

    fn finished(&mut self, result: u64, cpu: &mut Cpu) -> Flow {
        cpu.registers.finish_syscall(result);
        Flow::Continue
    }

    /// Signals aren't held back any more.
    fn let_signals_in(&mut self) {
        if hold::is_on() {
            self.signals.set_mask(self.signals.mask());
        }
    }

    /// Such a call is about to be made. If signals are held back they are let in where it may wait for them, or tells of them.
    fn let_signals_in_at(&mut self, call: &Call) {
        if !hold::is_on() || threads::never_waits(call) {
            return;
        }
        if hold::waits(self.signals.mask()) {
            hold::let_in_at_next_call();
        } else {
            self.let_signals_in();
        }
    }

    /// A call without a meaning for us.
    fn execute(&mut self, rule: &Rule, call: Call, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let written = effects::writable(rule, &call.args, &self.memory);
        for range in &written {
            control.before_write(range.address, range.len);
        }
        let writes_unseen = self.own_memory.is_written_by(&call);
        if writes_unseen {
            memory::release_all(control);
        }
        let waiting_mask = self.waiting_mask(&call);
        let needs_turn = writes_unseen || table::may_kill(call.number, &call.args);
        self.make_call(Underway { call, written, writes_unseen, waiting_mask, needs_turn }, cpu, control)
    }

    /// What is left to be done once such a call was made.
    fn executed(
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
            self.own_memory.after(&call, result);
            written_files::opened_by(&call, result).into_iter().for_each(|inode| control.file_may_change(inode));
        }
        cpu.registers.finish_syscall(result);
        self.let_signals_in();
        let interrupted = result as i64 == -i64::from(libc::EINTR);
        self.deliver_waiting(waiting_mask.filter(|_| interrupted), cpu, control)
    }

    /// The mask that the call sets while it waits; a handler that interrupts it starts with that one blocked.
    fn waiting_mask(&self, call: &Call) -> Option<u64> {
        use machine::Memory;
        let [a, _, _, d, e, f] = call.args;
        let pointer = match call.number as i64 {
            libc::SYS_rt_sigsuspend => a,
            libc::SYS_ppoll => d,
            libc::SYS_epoll_pwait | libc::SYS_epoll_pwait2 => e,
            // A pointer to a pointer and a size.
            libc::SYS_pselect6 if f != 0 => self.memory.read_u64(f).unwrap_or(0),
            _ => 0,
        };
        (pointer != 0).then(|| self.memory.read_u64(pointer).ok()).flatten()
    }

    /// A call that may kill this process at once: the result is handed in before.
    fn kill(&mut self, rule: &Rule, call: Call, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        if let Err(error) = self.slot.publish(self.tool.as_ref(), self.stats()) {
            self.slot.fail(&error);
        }
        let flow = self.execute(rule, call, cpu, control);
        self.slot.unpublish();
        flow
    }

    fn exec(&mut self, call: Call, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        if let Err(error) = self.slot.publish(self.tool.as_ref(), self.stats()) {
            self.give_up_before_call(&error, cpu, control);
        }
        threads::before_exec();
        // Also ends the holding back of signals. The new program inherits the mask, so it must be the app's, fault signals included.
        set_real_mask(self.signals.mask());
        let outcome = calls::interruptible(call.number, call.args, arrival::flag());
        self.slot.unpublish();
        self.signals.set_mask(self.signals.mask());
        match outcome {
            Err(why) => self.deliver_before_call(why, cpu, control),
            Ok(result) => self.finished(result, cpu),
        }
    }

    fn start_process(&mut self, call: Call, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let Some(child) = Child::of(&call, cpu, &self.memory) else {
            self.give_up_before_call(&SHARED_MEMORY, cpu, control);
        };
        set_real_mask(!FAULTS);
        if arrival::flag().load(std::sync::atomic::Ordering::Acquire) != 0 {
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
    fn vsyscall(&mut self, number: i64, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        use machine::Memory;
        let Ok(back) = self.memory.read_u64(cpu.registers.rsp()) else {
            return self.end(Ending::Signal(libc::SIGSEGV));
        };
        let call = Call { number: number as u64, args: cpu.registers.syscall_args() };
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

    /// `arch_prctl` as far as it is about the segment bases.
    fn segment_base(&mut self, call: &Call, cpu: &mut Cpu, control: &mut dyn Control) -> Option<u64> {
        use machine::Memory;
        let [command, value, ..] = call.args;
        let base = match command as i32 {
            0x1001 | 0x1004 => &mut cpu.registers.gs_base,
            0x1002 | 0x1003 => &mut cpu.registers.fs_base,
            _ => return None,
        };
        if matches!(command as i32, 0x1003 | 0x1004) {
            control.before_write(value, 8);
            let written = self.memory.write(value, &base.to_le_bytes());
            return Some(if written.is_ok() { 0 } else { -i64::from(libc::EFAULT) as u64 });
        }
        if value >= 1 << 47 {
            return Some(-i64::from(libc::EPERM) as u64);
        }
        *base = value;
        Some(0)
    }

    /// `read` of a descriptor that shows the app its mappings.
    fn read_maps(&mut self, call: &Call, control: &mut dyn Control) -> Option<u64> {
        let text = self.maps.read(call, || {
            // Pages that the engine protected are lines of their own.
            memory::release_all(control);
            maps::current()
        })?;
        let mut memory = Told { memory: self.memory, control };
        let written = machine::Memory::write(&mut memory, call.args[1], &text);
        Some(if written.is_ok() { text.len() as u64 } else { -i64::from(libc::EFAULT) as u64 })
    }

    /// Calls that are answered here.
    fn virtual_call(&mut self, call: &Call, cpu: &mut Cpu, control: &mut dyn Control) -> Option<u64> {
        let args = call.args;
        let memory = &mut Told { memory: self.memory, control };
        match call.number as i64 {
            libc::SYS_rt_sigaction => {
                let result = self.signals.sigaction(args, memory);
                if args[1] != 0 && is_fault(args[0]) {
                    control.expect_faults();
                }
                Some(result)
            }
            libc::SYS_rt_sigprocmask => Some(self.signals.sigprocmask(args, memory)),
            libc::SYS_sigaltstack => Some(self.signals.sigaltstack(args, cpu.registers.rsp(), memory)),
            libc::SYS_arch_prctl => self.segment_base(call, cpu, control),
            libc::SYS_read => self.read_maps(call, control),
            libc::SYS_getrlimit | libc::SYS_setrlimit | libc::SYS_prlimit64 => limits::call(call, memory),
            _ => memory::call(call.number, args, control),
        }
    }
}

/// Whether an instruction can raise this signal.
fn is_fault(signal: u64) -> bool {
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP].contains(&(signal as i32))
}

/// A system call of the app's.
#[derive(Clone, Copy)]
pub struct Call {
    number: u64,
    args: [u64; 6],
}

/// A call that is made, or about to be.
pub struct Underway {
    call: Call,
    /// Where it may write while others run.
    written: Vec<Range>,
    /// It writes the app's memory without its arguments saying where.
    writes_unseen: bool,
    /// See [`SerialGuest::waiting_mask`].
    waiting_mask: Option<u64>,
    /// No other thread may run meanwhile.
    needs_turn: bool,
}

const SHARED_MEMORY: &str = "the app starts a process that runs at the same time in the same memory, which serial mode doesn't follow yet; \
    it went on natively, there is no total";

impl Instrument for SerialGuest {
    fn instrument(&self, trace: &mut Trace) {
        self.tool.instrument(trace);
    }
}

impl Guest for SerialGuest {
    fn drain(&mut self, words: &[u64]) {
        self.tool.drain(words);
    }

    fn syscall(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let call = Call { number: cpu.registers.get(Gpr::Rax), args: cpu.registers.syscall_args() };
        let rule = table::lookup(call.number, &call.args, &self.memory);
        match rule.class {
            Class::Refuse { result } => self.finished(result as u64, cpu),
            Class::Special(Special::Exit) if call.number as i64 == libc::SYS_exit => {
                self.end_thread(call.args[0], cpu, control)
            }
            Class::Special(Special::Exit) => self.end(Ending::Exit(call.args[0])),
            Class::Special(Special::Exec) => self.exec(call, cpu, control),
            Class::Special(Special::StartProcess) => self.start_process(call, cpu, control),
            Class::Special(Special::StartThread) => self.start_thread(call, cpu, control),
            Class::Special(Special::SignalReturn) => self.return_from_handler(cpu, control),
            Class::Replay | Class::Repeat | Class::Boundary => {
                self.signals.hold.sees(&call);
                if let Some(result) = self.virtual_call(&call, cpu, control) {
                    self.let_signals_in();
                    self.finished(result, cpu)
                } else if let Some(signal) = self.death_by(&call) {
                    self.end(Ending::Signal(signal))
                } else if table::may_kill(call.number, &call.args) {
                    self.kill(&rule, call, cpu, control)
                } else {
                    self.execute(&rule, call, cpu, control)
                }
            }
        }
    }

    fn volatile(&mut self, what: Volatile, cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        match what {
            Volatile::Cpuid => execute_cpuid(&mut cpu.registers),
            Volatile::Rdtsc | Volatile::Rdtscp | Volatile::Unrepeatable { .. } => {
                unreachable!("the engine executes it where nothing is replayed")
            }
        }
        Flow::Continue
    }

    fn end_reached(&mut self, _cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        // A serial run has no end to look for.
        Flow::Continue
    }

    fn fault(&mut self, fault: &Fault, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        if let Some(number) = table::vsyscall(cpu.registers.rip) {
            return self.vsyscall(number, cpu, control);
        }
        let outcome = deliver::fault(&mut self.signals, fault, cpu, control);
        self.begun.handler(cpu.registers.rsp());
        self.after(outcome)
    }

    fn unsupported(&mut self, reason: &str, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        self.give_up(&reason, cpu, control)
    }

    fn interrupted(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        if self.ending.is_some() {
            // The signal that interrupted is the one that ends the app.
            return Flow::Leave;
        }
        self.let_signals_in();
        match self.deliver_waiting(None, cpu, control) {
            Flow::Continue => self.give_turn_if_asked(),
            Flow::Leave => Flow::Leave,
        }
    }
}

/// The app's memory, with the engine told before each write.
struct Told<'a> {
    memory: Here,
    control: &'a mut dyn Control,
}

impl machine::Memory for Told<'_> {
    fn read(&self, address: u64, buf: &mut [u8]) -> Result<(), machine::MemoryError> {
        self.memory.read(address, buf)
    }

    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), machine::MemoryError> {
        self.control.before_write(address, bytes.len() as u64);
        self.memory.write(address, bytes)
    }
}

/// Ends this process by a signal, whatever the app did about that signal.
fn die(signal: i32) -> ! {
    set_real_action(signal, &Action::default());
    // Others that wait don't come first, and it is this thread's: another one would get it when this one has gone on.
    set_real_mask(!arrival::bit(signal));
    let [process, thread] = [libc::SYS_getpid, libc::SYS_gettid].map(|number| raw_syscall(number as u64, [0; 6]));
    raw_syscall(libc::SYS_tgkill as u64, [process, thread, signal as u64, 0, 0, 0]);
    // Only if the signal isn't fatal after all.
    exit_now(128 + signal)
}
