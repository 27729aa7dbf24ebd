//! What the engine asks while it runs the app: the answers of a serial run.

use engine::{Control, Fault, Flow, Host, Nondeterministic};
use machine::{Gpr, Status};
use syscall_replay::table::{self, Class, Special};
use translator::abi::Cpu;
use translator::trace::{Instrument, Trace};

use super::changes::{Changed, ChangedFault};
use super::ending::Ending;
use super::host::SerialHost;
use super::running::parallel;
use crate::ports::{Asked, Granted, execute_cpuid, grant, requests};
use crate::serial::calls::{AppCall, Unmade};
use crate::serial::signals::deliver;

fn is_traced() -> bool {
    Status::of("self").ok().and_then(|status| status.number::<u32>("TracerPid")).is_some_and(|tracer| tracer != 0)
}

impl Instrument for SerialHost {
    fn instrument(&self, trace: &mut Trace) {
        if !requests::is_quiet() {
            self.tool.instrument(trace);
        }
    }
}

impl Host for SerialHost {
    fn drain(&mut self, words: &[u64]) {
        self.tool.drain(words);
    }

    fn cut(&mut self, pc: u64) {
        self.tool.cut(pc, self.images.present(), 0);
    }

    fn syscall(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let mut call = AppCall { number: cpu.registers.get(Gpr::Rax), args: cpu.registers.syscall_args() };
        let mut instead = None;
        if self.changed.is_on() {
            match self.change_call(call, cpu, control) {
                Changed::NotEntered => return self.deliver_before_call(Unmade::NotEntered, cpu, control),
                Changed::Made(made) => call = made,
                Changed::Instead(result) => instead = Some(result),
            }
        }
        if !self.enters(&call, cpu) {
            return self.deliver_before_call(Unmade::NotEntered, cpu, control);
        }
        if let Some(result) = instead {
            return self.finished(result, cpu);
        }
        let rule = table::lookup(call.number, &call.args, &self.memory);
        match rule.class {
            Class::Refuse { result } => self.finished(result as u64, cpu),
            Class::Special(Special::Exit) if call.number as i64 == libc::SYS_exit => {
                self.end_thread(call.args[0], cpu, control)
            }
            Class::Special(Special::Exit) => {
                self.told.ends(&self.thread.0, call.args[0], cpu, self.tool.as_ref());
                self.end(Ending::Exit(call.args[0]))
            }
            Class::Special(Special::Exec) => self.alone(|host| host.exec(call, cpu, control)),
            // Who is in the cache may hold locks of the image, which the child would find held.
            Class::Special(Special::StartProcess) => self.alone(|host| host.start_process(call, cpu, control)),
            Class::Special(Special::StartThread) => self.start_thread(call, cpu, control),
            Class::Special(Special::SignalReturn) => self.return_from_handler(cpu, control),
            Class::Replay | Class::Repeat | Class::Boundary => {
                self.signals.throttle.sees(&call);
                if let Some(result) = self.virtual_calls().answer(&call, cpu, control) {
                    let Self { images, calls, tool, .. } = self;
                    images.called(call.number, call.args, tool.as_ref(), || calls.made(result, tool.as_ref()));
                    self.let_signals_in();
                    self.finished(result, cpu)
                } else if let Some(signal) = self.threads.death_by(&call, &self.signals) {
                    self.end(Ending::Signal(signal))
                } else if table::may_kill(call.number, &call.args) {
                    self.alone(|host| host.kill(&rule, call, cpu, control))
                } else {
                    self.execute(&rule, call, cpu, control)
                }
            }
        }
    }

    fn nondeterministic(&mut self, what: Nondeterministic, cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        match what {
            Nondeterministic::Cpuid => execute_cpuid(&mut cpu.registers),
            Nondeterministic::Rdtsc | Nondeterministic::Rdtscp | Nondeterministic::Unrepeatable { .. } => {
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
        let outcome = match self.change_fault(fault, cpu, control) {
            ChangedFault::Itself => deliver::fault(&mut self.signals, fault, cpu, control),
            ChangedFault::Nothing => return Flow::Continue,
            ChangedFault::Another(other) => match deliver::arrived(&mut self.signals, &other, None, cpu, control) {
                Ok(false) => return Flow::Continue,
                outcome => outcome.map(|_| ()),
            },
        };
        self.begun.handler(cpu.registers.rsp());
        if outcome.is_ok() {
            self.tell_of_handler(&fault.info, cpu);
        }
        self.after(outcome, cpu)
    }

    fn enters_cache(&mut self) {
        if self.threads.have_windows && self.threads.are_many() {
            parallel::enters_cache();
        }
    }

    fn leaves_cache(&mut self) {
        if self.threads.have_windows {
            parallel::leaves_cache();
        }
    }

    fn is_awaited(&self) -> bool {
        self.threads.have_windows && parallel::is_awaited()
    }

    fn stands_still(&mut self) {
        parallel::stands_still(self);
    }

    fn stop_others(&mut self) {
        parallel::stop_others(self);
    }

    fn lets_go(&mut self) {
        parallel::lets_go();
    }

    fn unsupported(&mut self, reason: &str, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        self.give_up(&reason, cpu, control)
    }

    fn asked(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let asked = self.tool.asked(cpu.registers.rip);
        if asked == Asked::Counts {
            requests::end_warm_up();
            control.renew(false);
            return match self.grant(cpu, control) {
                Flow::Continue => self.depart_if_asked(),
                Flow::Leave => Flow::Leave,
            };
        }
        if asked == Asked::Begins {
            self.told.forget();
            self.told.goes_on(&self.thread.0, false, cpu, self.tool.as_ref());
        }
        let flow = self.images.asked(asked, control, self.tool.as_ref());
        if self.tool.is_over() && !requests::are_there() {
            self.departs_if_that_can_be();
            return self.depart_if_asked();
        }
        flow
    }

    fn interrupted(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        if self.ending.is_some() {
            // The signal that interrupted is the one that ends the app.
            return Flow::Leave;
        }
        if self.grant(cpu, control) == Flow::Leave {
            return Flow::Leave;
        }
        self.let_signals_in();
        match self.deliver_waiting(None, cpu, control) {
            Flow::Continue if self.departs() => self.depart_if_asked(),
            Flow::Continue => self.give_turn_if_asked(),
            Flow::Leave => Flow::Leave,
        }
    }
}

impl SerialHost {
    /// What the tool has asked for is done. Whether the app goes on.
    fn grant(&mut self, cpu: &Cpu, control: &mut dyn Control) -> Flow {
        if requests::are_there() { self.alone(|host| host.grant_alone(cpu, control)) } else { Flow::Continue }
    }

    fn grant_alone(&mut self, cpu: &Cpu, control: &mut dyn Control) -> Flow {
        let tool = self.tool.as_ref();
        let granted = grant(self.slot, tool, &mut self.images, control, || {
            self.told.forget();
            self.told.goes_on(&self.thread.0, false, cpu, tool);
        });
        match granted {
            Granted::GoesOn => {}
            Granted::LooksNoMore => self.departs_if_that_can_be(),
            Granted::Ends => {
                self.ending = Some(Ending::Exit(0));
                return Flow::Leave;
            }
        }
        Flow::Continue
    }

    /// The tool looks at nothing any more: the app is to go on natively. Without the control process, which has been killed, nobody could take it from there.
    fn departs_if_that_can_be(&self) {
        if self.ends_with_region && is_traced() {
            self.slot.set_departs();
        }
    }
}
