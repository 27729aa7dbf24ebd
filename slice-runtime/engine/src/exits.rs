//! What is done when translated code was left: by the exit that it was left by.

use isa::Instruction;
use machine::{AppPc, CachePc, Registers};
use translator::abi::{Descriptor, Exit, ExitKind, IN_TARGET, SpaceId, TraceId, exit_of};

use crate::buffer;
use crate::engine::{EXIT_FAULT, EXIT_INTERRUPTED, EXIT_NOT_ENTERED, EXIT_UNFINISHED, Engine, Next};
use crate::gateway::INDIRECT_MISS;
use crate::guest::{Flow, Guest, Volatile};
use crate::signals::TRAP_FLAG;

impl Engine {
    pub(crate) fn after_exit(&mut self, guest: &mut dyn Guest, entry: CachePc) -> Next {
        let cpu = self.cpu_unbound();
        match self.thread().exit {
            EXIT_NOT_ENTERED => {
                self.thread().interrupted |= 1;
                Next::Cache(entry)
            }
            EXIT_INTERRUPTED => {
                // `cpu` was filled in by the signal handler.
                self.thread().interrupted |= 1;
                Next::Dispatch
            }
            EXIT_UNFINISHED => self.finish_first(self.calls_made),
            EXIT_FAULT => self.after_fault(guest),
            INDIRECT_MISS => {
                self.stats.entries[1] += 1;
                cpu.registers.rip = self.thread().target;
                self.indirect_target(guest)
            }
            id => {
                let (space, number) = exit_of(id);
                let exit = self.space(space).tables.exit(number);
                cpu.registers.rip = exit.pc.0;
                self.after_trace_exit(guest, space, &exit)
            }
        }
    }

    fn after_trace_exit(&mut self, guest: &mut dyn Guest, space: SpaceId, exit: &Exit) -> Next {
        let cpu = self.cpu_unbound();
        let flow = match exit.kind {
            ExitKind::Direct => return self.after_direct(guest, space, exit),
            ExitKind::Slot => return self.after_slot(guest, space, exit),
            ExitKind::Changed => return self.after_changed(guest, exit),
            ExitKind::Stale => return self.after_stale(guest, exit),
            ExitKind::Call => return self.after_call(space, exit),
            ExitKind::Interrupted => {
                self.find_rip(exit);
                return Next::Cache(self.space(space).pc(exit.site));
            }
            ExitKind::End => return self.after_end(guest, space, exit),
            ExitKind::X87Environment => {
                self.stats.entries[3] += 1;
                self.show_x87_pc();
                self.thread().stored_environment = cpu.xstate.last_x87();
                if cpu.xstate.has_x87_exception() && self.decode(exit.pc).masks_x87_exceptions() {
                    // It stores half addresses, and nothing sees them in full after it.
                    self.thread().restores_x87 *= 2;
                }
                return Next::Cache(self.space(space).pc(exit.site));
            }
            ExitKind::PopFlags => {
                self.stats.entries[3] += 1;
                guest.unsupported(TRAP_FLAG, cpu, self)
            }
            ExitKind::Drain => {
                self.stats.entries[4] += 1;
                buffer::take(|words| guest.drain(words));
                return Next::Dispatch;
            }
            ExitKind::Syscall => {
                self.stats.entries[2] += 1;
                self.show_x87_pc();
                guest.syscall(cpu, self)
            }
            ExitKind::Rdtsc => self.volatile(guest, Volatile::Rdtsc),
            ExitKind::Rdtscp => self.volatile(guest, Volatile::Rdtscp),
            ExitKind::Cpuid => self.volatile(guest, Volatile::Cpuid),
            ExitKind::Unrepeatable => self.volatile(guest, Volatile::Unrepeatable { len: exit.argument }),
        };
        if flow == Flow::Continue { Next::Dispatch } else { Next::Leave }
    }

    fn volatile(&mut self, guest: &mut dyn Guest, what: Volatile) -> Flow {
        self.stats.entries[3] += 1;
        let cpu = self.cpu_unbound();
        guest.volatile(what, cpu, self)
    }

    fn after_direct(&mut self, guest: &mut dyn Guest, from: SpaceId, exit: &Exit) -> Next {
        self.stats.entries[0] += 1;
        let flushes = self.flushes;
        let Some((space, id)) = self.dispatch(guest) else { return Next::Leave };
        if self.has_come_to(exit.pc, flushes) {
            self.link(from, exit, space, id);
        }
        Next::Cache(self.entry_of(space, id))
    }

    fn after_stale(&mut self, guest: &mut dyn Guest, exit: &Exit) -> Next {
        self.stats.entries[0] += 1;
        let stale = (if exit.site == 0 { SpaceId::Own } else { SpaceId::Shared }, TraceId(exit.argument));
        let flushes = self.flushes;
        let Some((space, id)) = self.dispatch(guest) else { return Next::Leave };
        let entry = self.entry_of(space, id);
        if self.has_come_to(exit.pc, flushes) && self.may_enter_directly(space, id) {
            self.redirect(stale.0, stale.1, entry);
            self.lead_to(space, id);
        }
        Next::Cache(entry)
    }

    fn after_changed(&mut self, guest: &mut dyn Guest, exit: &Exit) -> Next {
        self.stats.entries[0] += 1;
        let flushes = self.flushes;
        let Some((space, id)) = self.dispatch(guest) else { return Next::Leave };
        if self.has_come_to(exit.pc, flushes) {
            self.lead_to(space, id);
        }
        Next::Cache(self.entry_of(space, id))
    }

    /// Whether what was found for the app's state may be entered at the next time without asking: it is where the app was going to, and not the handler of a fault that
    /// it met there, and nothing was flushed meanwhile.
    pub(crate) fn has_come_to(&mut self, target: AppPc, flushes: u32) -> bool {
        AppPc(self.cpu().registers.rip) == target && flushes == self.flushes
    }

    fn after_call(&mut self, space: SpaceId, exit: &Exit) -> Next {
        self.stats.entries[4] += 1;
        let goes_on = self.space(space).pc(exit.site);
        self.find_rip(exit);
        let (first, behind) = self.descriptor(space, exit.argument);
        let result = self.make_call(&first, exit.pc);
        if first.is_test() && result != 0 {
            let (then, _) = self.descriptor(space, behind);
            self.make_call(&then, exit.pc);
        }
        Next::Cache(goes_on)
    }

    /// After an exit with calls of an indirect branch: makes `rip` its target.
    fn find_rip(&mut self, exit: &Exit) {
        if exit.pc.0 == IN_TARGET {
            self.cpu().registers.rip = self.thread().target;
        }
    }

    /// The descriptor that lies at this offset of the arena, and the offset behind it.
    pub(crate) fn descriptor(&self, space: SpaceId, at: u32) -> (Descriptor, u32) {
        Descriptor::load(at, |offset, len| self.space(space).tables.arena(offset, len))
    }

    /// Makes a call before the instruction at `pc`, with the app's registers as they are.
    pub(crate) fn make_call(&mut self, descriptor: &Descriptor, pc: AppPc) -> u64 {
        let instruction = descriptor.needs_instruction().then(|| self.decode(pc));
        let registers = &self.cpu().registers;
        crate::routines::count(descriptor.routine(), || descriptor.call(registers, instruction.as_ref()))
    }

    /// The instruction at `pc`, which was decoded before when its trace was made.
    fn decode(&mut self, pc: AppPc) -> Instruction {
        Instruction::decode(self.code_bytes(pc), pc).expect("an instruction that was translated")
    }

    fn after_end(&mut self, guest: &mut dyn Guest, space: SpaceId, exit: &Exit) -> Next {
        self.stats.full_checks += 1;
        let cpu = self.cpu_unbound();
        self.show_flags(&mut cpu.registers);
        if guest.end_reached(cpu, self) == Flow::Leave {
            return Next::Leave;
        }
        let learnt = self.end.as_mut().is_some_and(|end| end.learn(&cpu.registers));
        let goes_on = self.space(space).pc(exit.site);
        if learnt {
            self.drop_own(exit.pc.0, exit.pc.0 + 1);
        }
        Next::Cache(goes_on)
    }

    /// Flags that nobody reads may be wrong. At the end, where all flags are compared, they become those of the end.
    fn show_flags(&self, registers: &mut Registers) {
        if let Some(end) = self.end.as_ref().filter(|end| end.registers.rip == registers.rip) {
            registers.rflags ^= (registers.rflags ^ end.registers.rflags) & end.dead_flags;
        }
    }

    fn after_fault(&mut self, guest: &mut dyn Guest) -> Next {
        self.stats.entries[4] += 1;
        let fault = self.fault.take().expect("the signal handler left the fault");
        let cpu = self.cpu_unbound();
        let write_to_code = fault.signal == libc::SIGSEGV && self.regions.pages.is_protected(fault.address);
        if write_to_code && fault.error_code & 2 != 0 {
            self.code_is_written(fault.address);
            self.single = true;
            self.calls_made = usize::MAX;
            return Next::Dispatch;
        }
        if buffer::is_full(&fault) {
            buffer::take(|words| guest.drain(words));
            return Next::Dispatch;
        }
        self.show_flags(&mut cpu.registers);
        self.show_x87_pc();
        match guest.fault(&fault, cpu, self) {
            Flow::Continue => Next::Dispatch,
            Flow::Leave => Next::Leave,
        }
    }
}
