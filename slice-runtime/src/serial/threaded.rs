//! What the host does about threads.

use std::sync::atomic::Ordering;

use engine::{Control, Flow, Runner, StoppedIn};
use machine::{Registers, XState};
use syscall_replay::is_error;
use translator::abi::Cpu;

use super::ending::Ending;
use super::host::SerialHost;
use super::running::parallel;
use crate::serial::calls::{AppCall, Length, Underway, Unmade, interruptible, length_of};
use crate::serial::memory::{limits, memory};
use crate::serial::signals::{AltStack, FAULTS, InterruptedCall, OfThread, set_real_mask};
use crate::serial::threads::{Leaver, NewThread, Pause, TURNS, ThreadBlock, ThreadContext, of_turn};

impl SerialHost {
    /// Another thread's turn begins: puts its state in, and takes this one's out.
    pub(super) fn exchange(&mut self, state: &mut ThreadContext) {
        self.signals.exchange(&mut state.signals);
        std::mem::swap(&mut self.begun, &mut state.begun);
        std::mem::swap(&mut self.thread, &mut state.thread);
        self.calls.exchange(&mut state.call, self.thread.0.number);
        self.changed.exchange(&mut state.changed);
    }

    /// That thread goes on in this state.
    pub(super) fn goes_on(&mut self, cpu: &Cpu) {
        let Self { thread: (thread, is_new), told, tool, .. } = self;
        tool.switch(thread);
        told.goes_on(thread, std::mem::take(is_new), cpu, tool.as_ref());
    }

    /// The first further thread is about to start: from now on each has a window, unless translations or the tool can't have that.
    fn take_windows(&mut self, control: &mut dyn Control) {
        let is_first = self.threads.started == 0 && !self.threads.have_windows;
        if is_first && control.may_have_windows() && self.tool.takes_windows(&self.thread.0) {
            control.take_windows();
            self.threads.have_windows = true;
        }
    }

    /// Does something for which no other thread may run translated code.
    pub(super) fn alone(&mut self, work: impl FnOnce(&mut Self) -> Flow) -> Flow {
        parallel::stop_others(self);
        let flow = work(self);
        parallel::lets_go();
        flow
    }

    /// Whether they have.
    pub(super) fn have_windows(&self) -> bool {
        self.threads.have_windows
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

    /// The thread is to go on natively, from the state that it is in now, if that is asked for.
    pub(crate) fn depart_if_asked(&mut self) -> Flow {
        if self.departs() { self.pause(Pause::Depart) } else { Flow::Continue }
    }

    /// Whether the app is to go on natively.
    pub(crate) fn departs(&self) -> bool {
        self.slot.departs()
    }

    /// The thread leaves, with everything blocked and nothing waiting for it. With the last one the result is handed in.
    pub(crate) fn departs_now(&mut self, engine: &mut Runner) -> Box<Leaver> {
        let slot = self.slot;
        engine.with_cpu(|_, control| {
            if control.returns_to_tool() {
                slot.fail(&LEAVES_TOOL);
            }
            memory::release_all(control);
            Flow::Continue
        });
        self.threads.departed += 1;
        self.hand_in_if_all_departed(engine);
        Leaver::new(engine.cpu(), &self.signals)
    }

    /// All that are left of the app's threads may have left the image.
    pub(crate) fn hand_in_if_all_departed(&self, engine: &Runner) {
        if self.threads.departed == self.threads.alive {
            self.hand_in(engine);
            limits::give_back();
        }
    }

    /// The app has so many further threads already, which come into the image later. Gives a block for each.
    pub(super) fn expects_threads(&mut self, count: u64) -> Vec<&'static ThreadBlock> {
        let expect = |_| {
            let block = self.threads.block();
            let thread = self.thread.0.child(self.threads.started + 1);
            self.thread.0.has_started();
            // What isn't known yet.
            let cpu = Cpu { thread: thread.number, ..Cpu::new(Registers::default(), XState::initial()) };
            let signals = OfThread { mask: u64::MAX, altstack: AltStack::NONE, arrivals: &block.arrivals };
            let (stopped, begun, thread) = (StoppedIn::default(), InterruptedCall::default(), (thread, false));
            let (call, changed, runner) = (None, None, None);
            let state = ThreadContext { cpu, stopped, signals, begun, call, changed, thread, runner };
            // SAFETY: its thread hasn't come.
            unsafe { block.put(Box::new(state)) };
            self.threads.alive += 1;
            self.threads.started += 1;
            block
        };
        (0..count).map(expect).collect()
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
        self.take_windows(control);
        let block = self.threads.block();
        let window = block.window().filter(|_| self.threads.have_windows);
        if window.is_some_and(|window| engine::map_window(window).is_none()) {
            block.is_used().store(0, Ordering::Release);
            set_real_mask(!FAULTS);
            self.signals.set_mask(self.signals.mask());
            return self.finished(-i64::from(libc::EAGAIN) as u64, cpu);
        }
        let signals = OfThread { mask: self.signals.mask(), altstack: AltStack::NONE, arrivals: &block.arrivals };
        let thread = self.thread.0.child(self.threads.started + 1);
        let cpu_of_new = Cpu { thread: thread.number, ..new.cpu.clone() };
        let (stopped, begun, thread) = (StoppedIn::default(), InterruptedCall::default(), (thread, true));
        let (call, changed, runner) = (None, None, None);
        let mut state =
            Box::new(ThreadContext { cpu: cpu_of_new, stopped, signals, begun, call, changed, thread, runner });
        // The thread is there when the call is over, but it hasn't the turn.
        let result = new.start(block, self.threads.begin);
        if is_error(result) {
            block.is_used().store(0, Ordering::Release);
        } else {
            state.thread.0.tid = result as i32;
            // SAFETY: this thread has the turn.
            unsafe { block.put(state) };
            self.thread.0.has_started();
            block.waiter.tid.store(result as i32, Ordering::Relaxed);
            self.threads.alive += 1;
            self.threads.started += 1;
        }
        set_real_mask(!FAULTS);
        self.signals.set_mask(self.signals.mask());
        self.finished(result, cpu);
        self.deliver_waiting(None, cpu, control)
    }

    /// `exit`: the end of this thread, and of the process if it is the last one.
    pub(crate) fn end_thread(&mut self, status: u64, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        // What comes from now on is for other threads. What has come is this one's.
        set_real_mask(!FAULTS);
        if self.signals.arrivals.flag().load(Ordering::Acquire) != 0 {
            return self.deliver_before_call(Unmade::NotEntered, cpu, control);
        }
        self.told.ends(&self.thread.0, status, cpu, self.tool.as_ref());
        if !self.threads.are_many() {
            return self.end(Ending::LastThread(status));
        }
        self.tool.thread_ends();
        self.threads.alive -= 1;
        self.pause(Pause::End(status))
    }
}

const LEAVES_TOOL: &str = "the app was to go on natively in a routine that the tool has called (App::call, Replaced::original): it would return to the tool, which isn't there any more";
