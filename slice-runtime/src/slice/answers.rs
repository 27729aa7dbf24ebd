//! What the engine asks while it runs a slice.

use bubble::end::EndKind;
use engine::{Control, Fault, Flow, Host, Nondeterministic};
use machine::{Gpr, Here, LaidOut};
use sigmatch::Verdict;
use syscall_replay::{NondeterministicKind, Replayed};
use translator::abi::Cpu;
use translator::trace::{Instrument, Trace};

use super::host::{KERNEL, SYSCALL_LEN, SliceHost};
use crate::ports::{Asked, SignalChange, grant, requests};
use crate::slice::end::{deadline, recurrence, xsave_images};

impl Instrument for SliceHost {
    fn instrument(&self, trace: &mut Trace) {
        self.tool.instrument(trace);
        xsave_images::instrument(trace);
    }
}

impl SliceHost {
    /// The app goes on with this extended state.
    pub(super) fn restore(&self, xstate: LaidOut<'_>, cpu: &mut Cpu) {
        let Some(here) = xstate.load() else {
            self.fail(&"a signal handler returned to registers that this processor doesn't have");
        };
        cpu.xstate = here;
    }

    pub(super) fn tell_of_signal(&self, what: impl FnOnce(&Here) -> SignalChange) {
        if self.tool.wants_signals() {
            self.tool.signal(what(&self.memory));
        }
    }
}

impl Host for SliceHost {
    fn drain(&mut self, words: &[u64]) {
        self.tool.drain(words);
    }

    fn cut(&mut self, pc: u64) {
        self.tool.cut(pc, self.images.present(), 0);
    }

    fn syscall(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        if self.watch.is_some() {
            return self.leaves_watch();
        }
        let (number, args) = (cpu.registers.get(Gpr::Rax), cpu.registers.syscall_args());
        self.calls.enter(number, args, cpu.registers.rip.wrapping_sub(SYSCALL_LEN), self.tool.as_ref());
        self.makes_call(cpu, control)
    }

    fn nondeterministic(&mut self, what: Nondeterministic, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        if self.watch.is_some() {
            return self.leaves_watch();
        }
        let (kind, len) = match what {
            Nondeterministic::Rdtsc => (NondeterministicKind::Rdtsc, 2),
            Nondeterministic::Rdtscp => (NondeterministicKind::Rdtscp, 3),
            Nondeterministic::Cpuid if self.cpuid.is_recorded() => (NondeterministicKind::Cpuid, 2),
            Nondeterministic::Cpuid => {
                if !self.cpuid.answer(&mut cpu.registers) {
                    self.fail(&"this processor has more to answer to `cpuid` than there is room for");
                }
                return Flow::Continue;
            }
            Nondeterministic::Unrepeatable { len } => return self.random(len.into(), cpu, control),
        };
        let pc = cpu.registers.rip.wrapping_sub(len);
        match self.replaying.replay(|log| log.nondeterministic(kind, pc, &mut cpu.registers)) {
            Ok(Replayed::Done | Replayed::Restored(_) | Replayed::Delivered(..)) => {
                self.arm_next(control);
                Flow::Continue
            }
            Ok(Replayed::Exhausted) => self.missed(&format_args!("{kind:?} at {pc:#x}")),
            Err(divergence) => self.diverged(&divergence),
        }
    }

    fn end_reached(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        if self.watch.as_mut().is_some_and(recurrence::Watch::is_first_look) {
            return Flow::Continue;
        }
        self.full_checks += 1;
        let sought = self.sought();
        match sigmatch::matches(sought, &cpu.registers, &cpu.xstate, &self.memory, xsave_images::stored()) {
            Verdict::Match => {
                self.stack_checks += 1;
                let is_there =
                    if self.point.is_some() { self.is_at_point(control) } else { self.verified(cpu, control) };
                if !is_there {
                    return Flow::Continue;
                }
                if self.watch.is_some() { self.comes_back() } else { Flow::Leave }
            }
            Verdict::Stack(word) => {
                control.require_word(sought.registers.rsp() + word as u64 * 8, sought.stack[word]);
                self.stack_checks += 1;
                Flow::Continue
            }
            Verdict::Registers | Verdict::Extended => {
                self.note_difference(cpu);
                self.name_difference(cpu, control);
                Flow::Continue
            }
        }
    }

    fn arrived(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        if self.point.is_some() { self.at_point(cpu, control) } else { Flow::Leave }
    }

    fn fault(&mut self, fault: &Fault, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        if self.watch.is_some() {
            return self.leaves_watch();
        }
        // A trap, unlike a fault, comes after its instruction: the state is then already the end's.
        let exhausted = self.replaying.is_exhausted() && self.end.kind == EndKind::Signature;
        if exhausted && self.end_reached(cpu, control) == Flow::Leave {
            return Flow::Leave;
        }
        let Fault { signal, address, .. } = fault;
        let pc = cpu.registers.rip;
        if pc >= KERNEL {
            return self.call_of_page(pc, cpu, control);
        }
        let end = self.compared_with_end(cpu);
        self.fail(&format_args!(
            "signal {signal} at pc {pc:#x} (address {address:#x}), where the master had none; compared with its end: {end}"
        ))
    }

    fn unsupported(&mut self, reason: &str, cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        if self.watch.is_some() {
            return self.leaves_watch();
        }
        let end = sigmatch::explain(self.sought(), &cpu.registers, &cpu.xstate, &self.memory);
        self.fail(&format_args!("{reason}; compared with its end: {end}"))
    }

    fn asked(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        if self.is_ahead() {
            return self.leaves_watch();
        }
        let asked = self.tool.asked(cpu.registers.rip);
        if asked == Asked::Counts {
            requests::end_warm_up();
            self.grant(cpu, control);
            control.renew(false);
            return Flow::Continue;
        }
        if asked == Asked::Begins {
            self.told.forget();
            self.told.goes_on(&self.thread, false, cpu, self.tool.as_ref());
        }
        self.images.asked(asked, control, self.tool.as_ref())
    }

    fn interrupted(&mut self, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        // Every signal of the app's is blocked in a slice; what interrupts the engine is the timer of the watch or the deadline.
        if self.watch.is_some() {
            return self.watch_is_interrupted(cpu.registers.rip);
        }
        self.grant(cpu, control);
        if requests::is_left() {
            return Flow::Leave;
        }
        let Some(used) = deadline::is_over(self.cpu_bound()) else { return Flow::Continue };
        self.slot.give_up();
        let why = match engine::routines::told(used.as_nanos() as u64) {
            Some(told) => format!(
                "{told}, which costs about as much as a system call each time: that may be all. Why it does, the report (-report) \
                 and docs/tools.md tell; or give it more time (-spgrace)"
            ),
            None => "It may be waiting for memory that another process writes, which slices don't see; serial mode (-sp 0) does. \
                     If its tool is slow, give it more time (-spgrace)"
                .into(),
        };
        self.fail(&format_args!(
            "it doesn't come to its end: it has used {:.1} s of CPU time and is at {:#x}. {why}",
            used.as_secs_f64(),
            cpu.registers.rip
        ))
    }
}

impl SliceHost {
    /// What the tool has asked for is done.
    fn grant(&mut self, cpu: &Cpu, control: &mut dyn Control) {
        let tool = self.tool.as_ref();
        grant(self.slot, tool, &mut self.images, control, || {
            self.told.forget();
            self.told.goes_on(&self.thread, false, cpu, tool);
        });
    }
}
