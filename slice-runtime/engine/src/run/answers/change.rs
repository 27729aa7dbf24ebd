//! What is done about a routine that changes the app: when translated code was left for it, and when a routine of the app's that it has called returns.

use machine::{AppPc, Gpr, flags};
use translator::abi::CallDescriptor;
use translator::trace::Form;

use crate::routines::count;
use crate::run::changing::{Call, Fiber, RETURNED, StateMut, Step, Waiting, write_app};
use crate::run::next::Next;
use crate::run::runner::Runner;
use crate::safe_reads;

/// Below the app's stack pointer, what a function may use without moving it.
const RED_ZONE: u64 = 128;

/// Registers of the first arguments.
const ARGUMENTS: [Gpr; 6] = [Gpr::Rdi, Gpr::Rsi, Gpr::Rdx, Gpr::Rcx, Gpr::R8, Gpr::R9];

impl Runner {
    /// Makes a call that changes the app, for which translated code was left at `next`.
    pub(in crate::run) fn change(&mut self, call: &CallDescriptor, pc: AppPc, next: Next) -> Next {
        let place = match next {
            Next::Cache(place) => place,
            Next::Dispatch | Next::Leave => return next,
        };
        if call.form() == Form::App {
            let rsp = self.cpu().registers.rsp();
            if self.app_calls.passes(pc, rsp) {
                return next;
            }
            let args = self.words(call, pc);
            let stack = self.app_calls.stack();
            let mut fiber = Fiber::new(call, call.local(), args, stack);
            let (step, goes_to, has_changed) = self.resume(&mut fiber, call.routine(), (0, None));
            if matches!(step, Step::Done) && goes_to.is_none() && !has_changed {
                self.app_calls.keep(fiber);
                return next;
            }
            self.leave_block(place, false);
            self.leaves();
            self.went_on(fiber, step, goes_to, pc);
            return Next::Dispatch;
        }
        let (goes_to, has_changed) = self.make_change(call, call.local(), pc);
        if goes_to.is_none() && !has_changed {
            return next;
        }
        let left = self.leave_block(place, false);
        self.leaves();
        match goes_to {
            Some(pc) => self.cpu().registers.rip = pc.0,
            // What follows may be other code by now.
            None if left.has_begun => self.begun.finish(left),
            None => self.begun.go_on(left),
        }
        Next::Dispatch
    }

    /// Makes a call that changes the app's state: where the app is to go on instead, and whether code that was translated has changed.
    pub(in crate::run) fn make_change(
        &mut self,
        call: &CallDescriptor,
        local: u64,
        pc: AppPc,
    ) -> (Option<AppPc>, bool) {
        let instruction = self.instruction_of(call, pc);
        if !call.takes_effect(self.cpu(), instruction.as_ref()) {
            return (None, false);
        }
        let args = call.words(self.cpu(), instruction.as_ref());
        type Routine = extern "C" fn(u64, *mut StateMut<'_>, *const u64, usize);
        // SAFETY: the routine of such a call is an `extern "C"` function of the image with these parameters (the typed interface guarantees it).
        let routine: Routine = unsafe { std::mem::transmute(call.routine() as usize) };
        self.with_state(instruction, |state| {
            count(call.routine(), || {
                routine(local, state, args.as_ptr(), args.len());
                0
            });
        })
        .1
    }

    /// Has a routine go on with the app's state. `goes_to`: what it has said before.
    fn resume(
        &mut self,
        fiber: &mut Fiber,
        routine: u64,
        (result, goes_to): (u64, Option<AppPc>),
    ) -> (Step, Option<AppPc>, bool) {
        let (step, (now, has_changed)) = self.with_state(None, |state| {
            let mut step = Step::Done;
            count(routine, || {
                step = fiber.resume(state, result);
                0
            });
            step
        });
        (step, now.or(goes_to), has_changed)
    }

    /// Lends the app's state: what the work says, where the app is to go on, and whether code that was translated has changed.
    fn with_state<R>(
        &mut self,
        instruction: Option<isa::Instruction>,
        work: impl FnOnce(&mut StateMut<'_>) -> R,
    ) -> (R, (Option<AppPc>, bool)) {
        let mut has_changed = false;
        let (cpu, mut control) = self.ask();
        let mut write = |address: u64, bytes: &[u8]| {
            has_changed |= control.has_translations(address, bytes.len() as u64);
            write_app(&mut control, address, bytes)
        };
        let mut state = StateMut::new(cpu, instruction, &mut write);
        let result = work(&mut state);
        let goes_to = state.goes_to();
        (result, (goes_to, has_changed))
    }

    /// The app goes on elsewhere than in its block.
    fn leaves(&mut self) {
        self.flush_counters();
        self.begun.put_back(None);
        self.cpu().repeating = 0;
    }

    /// A routine that was called before the instruction at `pc` has come so far: the app goes on where that says.
    fn went_on(&mut self, fiber: Fiber, step: Step, goes_to: Option<AppPc>, pc: AppPc) {
        match (step, goes_to) {
            (Step::Calls(call), _) => self.call_app(fiber, call, goes_to),
            (Step::Done, Some(to)) => {
                self.cpu().registers.rip = to.0;
                self.app_calls.keep(fiber);
            }
            (Step::Done, None) => {
                let registers = self.cpu().registers;
                debug_assert!(registers.rip == pc.0, "it is as it was before the call");
                self.app_calls.pass_at(pc, registers.rsp());
                self.app_calls.keep(fiber);
            }
        }
    }

    /// Has the app call one of its routines.
    fn call_app(&mut self, fiber: Fiber, call: Call, goes_to: Option<AppPc>) {
        let before = Box::new(self.cpu().clone());
        let rsp = before.registers.rsp();
        let is_original = call.function.is_none();
        let original = is_original.then(|| {
            let back = safe_reads::read_word(rsp);
            back.expect("a routine of the tool's calls the app's at whose entry it is: there the stack has an address to return to")
        });
        let (in_registers, on_stack) = call.args.split_at(call.args.len().min(ARGUMENTS.len()));
        assert!(
            original.is_none() || on_stack.is_empty(),
            "the original has the arguments on its stack, six others at most"
        );
        let below = (rsp.wrapping_sub(RED_ZONE) & !15).wrapping_sub(8 * (on_stack.len() as u64).next_multiple_of(2));
        let to = if original.is_some() { rsp } else { below.wrapping_sub(8) };
        let words = [&[RETURNED.0], on_stack].concat();
        self.store(to, &words);
        let cpu = self.cpu();
        ARGUMENTS.into_iter().zip(in_registers).for_each(|(r, arg)| cpu.registers.set(r, *arg));
        cpu.registers.set(Gpr::Rsp, to);
        if let Some(function) = call.function {
            // No vector registers are arguments, which functions with any number of arguments ask.
            cpu.registers.set(Gpr::Rax, 0);
            cpu.registers.rflags &= !flags::DF;
            cpu.registers.rip = function.0;
        }
        self.engine.links.expect(RETURNED);
        self.app_calls.put(Waiting { fiber, rsp: to.wrapping_add(8), before, goes_to, original });
    }

    /// Writes words to the app's stack, which may have to grow for that.
    fn store(&mut self, address: u64, words: &[u64]) {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let (_, mut control) = self.ask();
        if write_app(&mut control, address, &bytes) == bytes.len() {
            return;
        }
        safe_reads::read_word(address);
        let written = write_app(&mut control, address, &bytes);
        assert!(
            written == bytes.len(),
            "the tool calls a routine of the app's, whose stack has no room at {address:#x}"
        );
    }

    /// The app has come to [`RETURNED`]: false if nobody waits for that.
    pub(in crate::run) fn has_returned(&mut self) -> bool {
        let registers = self.cpu().registers;
        let Some(waiting) = self.app_calls.take(registers.rsp()) else { return false };
        let Waiting { mut fiber, before, goes_to, original, .. } = waiting;
        let pc = AppPc(before.registers.rip);
        match original {
            // What it has left in registers is what the caller gets.
            Some(back) => {
                let rsp = before.registers.rsp();
                self.store(rsp, &[back]);
                let cpu = self.cpu();
                cpu.registers.set(Gpr::Rsp, rsp);
                cpu.registers.rip = pc.0;
            }
            None => {
                let cpu = self.cpu();
                *cpu = *before;
            }
        }
        let routine = fiber.routine();
        let (step, goes_to, _) = self.resume(&mut fiber, routine, (registers.get(Gpr::Rax), goes_to));
        self.leaves();
        self.went_on(fiber, step, goes_to, pc);
        true
    }
}
