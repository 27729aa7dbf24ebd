//! What is done when translated code was left: by the exit that it was left by.

use bubble::end::EndStands;
use isa::Instruction;
use machine::{AppPc, CachePc, Registers};
use translator::abi::{ExitKind, IN_TARGET, SpaceId, TraceExit, exit_of};

use super::answers;
use super::begun::Left;
use super::next::Next;
use super::runner::Runner;
use super::stream;
use crate::gateway::{EXIT_FAULT, EXIT_INTERRUPTED, EXIT_NOT_ENTERED, INDIRECT_MISS};
use crate::interface::{Fault, Flow, Host, Nondeterministic, TRAP_FLAG};
use crate::log;

impl Runner {
    pub(super) fn after_exit(&mut self, host: &mut dyn Host, entry: CachePc) -> Next {
        match self.thread().exit {
            EXIT_NOT_ENTERED => {
                self.thread().interrupted |= 1;
                Next::Cache(entry)
            }
            EXIT_INTERRUPTED => self.after_interruption(),
            EXIT_FAULT => self.after_fault(host),
            INDIRECT_MISS => {
                let thread = self.thread();
                thread.cpu.registers.rip = thread.target;
                self.after_miss(host)
            }
            id => {
                let (space, number) = exit_of(id);
                let exit = self.engine.cache.space(space).tables.exit(number);
                self.cpu().registers.rip = exit.pc.0;
                self.after_trace_exit(host, space, &exit)
            }
        }
    }

    fn after_trace_exit(&mut self, host: &mut dyn Host, space: SpaceId, exit: &TraceExit) -> Next {
        let flow = match exit.kind {
            ExitKind::Direct => return self.after_direct(host, space, exit),
            ExitKind::ConstantPointer => return self.after_constant_pointer(host, space, exit),
            ExitKind::Changed => return self.after_changed(host, exit),
            ExitKind::Rewritten => {
                self.leave_block(self.place_of(space, exit), false);
                self.flush_counters();
                return Next::Dispatch;
            }
            ExitKind::Invalid => return self.after_invalid(host, exit),
            ExitKind::Call => return self.after_call(host, space, exit),
            ExitKind::Words => return self.before_words(host, space, exit),
            ExitKind::Interrupted => {
                self.find_rip(exit);
                return self.goes_on(space, exit);
            }
            ExitKind::End => return self.after_end(host, space, exit),
            ExitKind::X87Environment => return self.before_x87_environment(space, exit),
            ExitKind::PopFlags => {
                self.engine.stats.entries[3] += 1;
                let (cpu, mut control) = self.ask();
                host.unsupported(TRAP_FLAG, cpu, &mut control)
            }
            ExitKind::SelectorLoad => self.load_selector(host, exit.pc),
            ExitKind::Drain => {
                self.engine.stats.entries[4] += 1;
                stream::take(|words| host.drain(words));
                return Next::Dispatch;
            }
            ExitKind::Syscall => {
                self.engine.stats.entries[2] += 1;
                let (cpu, mut control) = self.ask();
                host.syscall(cpu, &mut control)
            }
            ExitKind::Rdtsc => self.nondeterministic(host, Nondeterministic::Rdtsc),
            ExitKind::Rdtscp => self.nondeterministic(host, Nondeterministic::Rdtscp),
            ExitKind::Cpuid => self.nondeterministic(host, Nondeterministic::Cpuid),
            ExitKind::Unrepeatable => {
                self.nondeterministic(host, Nondeterministic::Unrepeatable { len: exit.argument })
            }
        };
        if flow == Flow::Continue { Next::Dispatch } else { Next::Leave }
    }

    /// Where a trace goes on after an exit.
    fn goes_on(&self, space: SpaceId, exit: &TraceExit) -> Next {
        Next::Cache(self.place_of(space, exit))
    }

    fn place_of(&self, space: SpaceId, exit: &TraceExit) -> CachePc {
        self.engine.cache.space(space).pc(exit.site)
    }

    fn nondeterministic(&mut self, host: &mut dyn Host, what: Nondeterministic) -> Flow {
        self.engine.stats.entries[3] += 1;
        let (cpu, mut control) = self.ask();
        host.nondeterministic(what, cpu, &mut control)
    }

    /// A signal handler filled in the app's state.
    fn after_interruption(&mut self) -> Next {
        let place = self.mailbox().left_at.take().expect("the signal handler left the place");
        let is_string = is_string_instruction(place);
        let left = self.leave_block(place, is_string);
        // Settled before, but a call may have been made since.
        self.flush_counters();
        if is_string || self.begun.is_begun(&self.engine.cache, place, left.has_begun) {
            return self.finish_first(left);
        }
        self.begun.go_on_or_enter(left);
        self.thread().interrupted |= 1;
        Next::Dispatch
    }

    fn before_x87_environment(&mut self, space: SpaceId, exit: &TraceExit) -> Next {
        self.engine.stats.entries[3] += 1;
        let thread = self.thread();
        thread.stored_environment = thread.cpu.xstate.last_x87();
        if thread.cpu.xstate.has_x87_exception() && self.decode(exit.pc).masks_x87_exceptions() {
            // It stores half addresses, and nothing sees them in full after it.
            self.thread().restores_x87 *= 2;
        }
        self.goes_on(space, exit)
    }

    fn after_call(&mut self, host: &mut dyn Host, space: SpaceId, exit: &TraceExit) -> Next {
        self.engine.stats.entries[4] += 1;
        let goes_on = self.goes_on(space, exit);
        self.find_rip(exit);
        let (first, behind) = self.engine.cache.descriptor(space, exit.argument);
        if let Some(changes) = self.make_tested(&first, (space, behind), exit.pc) {
            return self.change(&changes, exit.pc, goes_on);
        }
        let then = first.is_test().then(|| self.engine.cache.descriptor(space, behind).0);
        self.know_clean(space, exit, first, then);
        if answers::take() { self.ask_host(host, self.place_of(space, exit)) } else { goes_on }
    }

    /// Writes the words of the instruction at the exit, which has not been executed.
    fn before_words(&mut self, host: &mut dyn Host, space: SpaceId, exit: &TraceExit) -> Next {
        self.engine.stats.entries[4] += 1;
        let (descriptor, _) = self.engine.cache.descriptor(space, exit.argument);
        let words = self.words(&descriptor, exit.pc);
        self.know_clean(space, exit, descriptor, None);
        if !stream::put(self.thread(), &words) {
            stream::take(|words| host.drain(words));
            assert!(stream::put(self.thread(), &words), "words for one instruction that fill the buffer");
        }
        self.goes_on(space, exit)
    }

    /// After an exit with calls of an indirect branch: makes `rip` its target.
    fn find_rip(&mut self, exit: &TraceExit) {
        if exit.pc.0 == IN_TARGET {
            let thread = self.thread();
            thread.cpu.registers.rip = thread.target;
        }
    }

    fn after_end(&mut self, host: &mut dyn Host, space: SpaceId, exit: &TraceExit) -> Next {
        if self.engine.takes_stop(exit.pc) {
            log::stop(&self.cpu().registers);
            if !self.engine.points.is_end(exit.pc) {
                return self.goes_on(space, exit);
            }
        }
        let rflags = self.show_flags_before();
        self.show_flags();
        let (cpu, mut control) = self.ask();
        let pc = cpu.registers.rip;
        let flow = host.end_reached(cpu, &mut control);
        log::end_looked_at(pc, flow);
        if flow == Flow::Leave {
            let place = self.place_of(space, exit);
            // The app has begun an instruction that has raised a signal.
            let begins = self.engine.points.end().is_some_and(|end| end.stands == EndStands::Faults);
            if begins {
                self.make_calls_before(place);
            }
            self.leave_block(place, begins);
            self.flush_counters();
            return self.arrive(host);
        }
        let seen: Registers = self.cpu().registers;
        self.cpu().registers.rflags = rflags;
        let learnt = self.engine.points.end_mut().is_some_and(|end| end.learn(&seen));
        let goes_on = self.goes_on(space, exit);
        if learnt {
            self.engine.drop_own(exit.pc.0, exit.pc.0 + 1);
        }
        goes_on
    }

    /// The app is in the state that was looked for, and stands outside of any block: what comes there is the host's affair, as after an interruption that is the app's.
    fn arrive(&mut self, host: &mut dyn Host) -> Next {
        let (cpu, mut control) = self.ask();
        match host.arrived(cpu, &mut control) {
            Flow::Continue => {
                self.cpu().repeating = 0;
                Next::Dispatch
            }
            Flow::Leave => Next::Leave,
        }
    }

    /// Flags that nobody reads may be wrong. At the end, where all flags are compared, they become those of the end.
    fn show_flags(&mut self) {
        let rip = AppPc(self.cpu().registers.rip);
        if let Some(end) = self.engine.points.end().filter(|end| end.registers.rip == rip.0) {
            let (flags, dead) = (end.registers.rflags, end.dead_flags);
            let registers = &mut self.cpu().registers;
            registers.rflags ^= (registers.rflags ^ flags) & dead;
        }
    }

    /// Flags between two steps of a repeated comparison become those that the processor would show. Returns what they were.
    pub(super) fn show_flags_before(&mut self) -> u64 {
        let Registers { rip, rflags, .. } = self.cpu().registers;
        let compares = |instruction: Instruction| instruction.repetition().is_some_and(|how| how.wanted.is_some());
        if self.engine.settings.comparisons_keep_flags
            && rip != 0
            && self.cpu().repeating == rip
            && compares(self.decode(AppPc(rip)))
        {
            self.cpu().registers.rflags = self.cpu().rflags_before();
        }
        rflags
    }

    fn after_fault(&mut self, host: &mut dyn Host) -> Next {
        self.engine.stats.entries[4] += 1;
        let place = self.mailbox().left_at.take().expect("the signal handler left the place");
        let fault = self.mailbox().fault.take().expect("the signal handler left the fault");
        let left = self.leave_block(place, true);
        self.flush_counters();
        log::faulted(&fault, self.cpu().registers.rip);
        let write_to_code = fault.signal == libc::SIGSEGV && self.engine.code.is_protected(fault.address);
        if write_to_code && fault.error_code & 2 != 0 {
            self.engine.code_is_written(fault.address);
            self.begun.finish(Left { made: usize::MAX, ..left });
            return Next::Dispatch;
        }
        if self.engine.deferred.others_run()
            && is_refused_write(&fault)
            && self.engine.code.may_be_written(fault.address)
        {
            // Another thread has written there first.
            self.begun.finish(Left { made: usize::MAX, ..left });
            return Next::Dispatch;
        }
        if stream::is_full(self.thread(), &fault) {
            stream::take(|words| host.drain(words));
            self.begun.go_on(left);
            return Next::Dispatch;
        }
        self.show_flags_before();
        self.show_flags();
        let (cpu, mut control) = self.ask();
        let flow = host.fault(&fault, cpu, &mut control);
        self.cpu().repeating = 0;
        match flow {
            Flow::Continue => Next::Dispatch,
            Flow::Leave => Next::Leave,
        }
    }
}

/// Whether a store was refused by the protection of a page.
fn is_refused_write(fault: &Fault) -> bool {
    const SEGV_ACCERR: i32 = 2;
    fault.signal == libc::SIGSEGV && fault.info.si_code == SEGV_ACCERR && fault.error_code & 2 != 0
}

/// Whether a repeated string instruction of the app's lies at a place of the code cache.
fn is_string_instruction(place: CachePc) -> bool {
    // SAFETY: the cache is mapped, and there is more of the bubble behind it.
    let bytes = unsafe { std::slice::from_raw_parts(place.0 as *const u8, isa::MAX_LEN) };
    Instruction::decode(bytes, AppPc(place.0)).is_ok_and(|instruction| instruction.is_rep())
}
