//! Analysis calls that the runtime makes, and those that it corrects.

use bubble::routines::way;
use isa::Instruction;
use machine::{AppPc, CachePc};
use translator::abi::{CallDescriptor, Cpu, PcSource, SpaceId, TraceExit};
use translator::trace::Form;

use super::begun::{Inside, Left};
use super::rest::Block;
use super::runner::Runner;
use super::stream;
use crate::block_counts;
use crate::cache::{Found, Records};
use crate::check;
use crate::coherence::AppCode;
use crate::gateway::{self, Clean};
use crate::routines::{count, count_as};

impl Runner {
    /// Makes the tool's state what its routines made of it. Done whenever translated code is left, so that routines which are
    /// called and hosts never see it otherwise.
    pub(super) fn flush_counters(&mut self) {
        let thread = self.thread_pointer();
        // SAFETY: the thread state is mapped, and so is the tool's state, in which the words lie; no app code runs.
        unsafe { self.engine.cache.counters().flush_shards(&mut (*thread).shards, (*thread).moved()) }
    }

    /// Makes a call before the instruction at `pc`, with the app's registers as they are.
    pub(super) fn make_call(&mut self, descriptor: &CallDescriptor, pc: AppPc) {
        for local in check::locals(descriptor.local()) {
            self.call(descriptor, local, pc);
        }
    }

    /// The same, and if it is a test that says so, the call behind it. One of these that changes the app isn't made, but given back.
    pub(super) fn make_tested(
        &mut self,
        first: &CallDescriptor,
        (space, behind): (SpaceId, u32),
        pc: AppPc,
    ) -> Option<CallDescriptor> {
        if first.form().changes() {
            return Some(first.clone());
        }
        for local in check::locals(first.local()) {
            let result = self.call(first, local, pc);
            if first.is_test() && result != 0 {
                let (then, _) = self.engine.cache.descriptor(space, behind);
                if then.form().changes() {
                    return Some(then);
                }
                self.call(&then, local, pc);
            }
        }
        None
    }

    fn call(&mut self, descriptor: &CallDescriptor, local: u64, pc: AppPc) -> u64 {
        if descriptor.form() == Form::Change {
            // Behind an instruction, or branch, where the app was interrupted: it hasn't gone on.
            if let (Some(to), _) = self.make_change(descriptor, local, pc) {
                self.cpu().registers.rip = to.0;
            }
            return 0;
        }
        let instruction = self.instruction_of(descriptor, pc);
        // The next time it is a clean call.
        let way = if self.engine.settings.off.leaves_clean_calls() { way::ASIDE } else { way::LEAVES };
        let moved = self.thread().moved();
        let cpu = self.cpu();
        if !check::is_checked(descriptor.local()) {
            return count_as(way, descriptor.routine(), || descriptor.call(cpu, instruction.as_ref(), moved));
        }
        check::set_place(pc.0);
        let copy = descriptor.instead(check::entry(descriptor.routine()), local);
        let exchange = |cpu: &mut Cpu| {
            if local != descriptor.local() {
                std::mem::swap(&mut cpu.kept, &mut cpu.kept_by_second);
            }
        };
        exchange(cpu);
        let result = check::with(local, || count(descriptor.routine(), || copy.call(cpu, instruction.as_ref(), 0)));
        exchange(self.cpu());
        result
    }

    /// Takes back what a call has counted for a whole block: `count` is minus the number of instructions that weren't executed.
    fn correct(&mut self, descriptor: &CallDescriptor, count: u64) {
        if !check::is_checked(descriptor.local()) {
            let moved = self.thread().moved();
            return descriptor.correct(count, self.cpu(), moved);
        }
        for local in check::locals(descriptor.local()) {
            let copy = descriptor.instead(check::entry(descriptor.routine()), local);
            check::with(local, || copy.correct(count, self.cpu(), 0));
        }
    }

    /// The words that a descriptor describes, before the instruction at `pc`.
    pub(super) fn words(&mut self, descriptor: &CallDescriptor, pc: AppPc) -> Vec<u64> {
        let instruction = self.instruction_of(descriptor, pc);
        descriptor.words(self.cpu(), instruction.as_ref())
    }

    /// From now on translated code can have this done without leaving, where it asks for that.
    pub(super) fn know_clean(
        &mut self,
        space: SpaceId,
        exit: &TraceExit,
        first: CallDescriptor,
        then: Option<CallDescriptor>,
    ) {
        let is_asked = self.engine.settings.off.leaves_clean_calls() && first.form() != Form::Runtime;
        if !is_asked || check::is_on() || then.as_ref().is_some_and(|then| then.form().changes()) {
            return;
        }
        let of_then = then.as_ref().and_then(|then| self.instruction_of(then, exit.pc));
        let instruction = self.instruction_of(&first, exit.pc).or(of_then);
        // SAFETY: the cache is the runner's, which stays where it is for as long as translated code runs.
        let counters = unsafe { &*std::ptr::from_ref(self.engine.cache.counters()) };
        gateway::know(space, exit.argument, Clean { first, then, counters, instruction });
    }

    /// The instruction before which a call is, if it looks at that. None is there where a branch has gone.
    pub(super) fn instruction_of(&mut self, descriptor: &CallDescriptor, pc: AppPc) -> Option<Instruction> {
        descriptor.needs_instruction().then(|| self.decode(pc))
    }

    /// Makes the calls before the instruction at the end, where a trace of this process's own was left before they were made.
    pub(super) fn make_calls_before(&mut self, place: CachePc) {
        let Some(at) = self.engine.cache.locate(place) else { return };
        let pc = AppPc(at.entry.pc);
        let tables = self.engine.cache.space(at.space).tables;
        for call in Records::of(&tables, at.id).calls.iter().filter(|call| call.pc == pc.0 && call.block == 0) {
            let (first, behind) = self.engine.cache.descriptor(at.space, call.descriptor);
            self.make_tested(&first, (at.space, behind), pc);
        }
    }

    /// The instruction at `pc`, which was decoded before when its trace was made.
    pub(super) fn decode(&mut self, pc: AppPc) -> Instruction {
        Instruction::decode(self.engine.code.bytes(pc), pc).expect("an instruction that was translated")
    }

    /// The app leaves a block at `place` before its end, with its registers in place: corrects the block-level calls that counted all of it, makes calls
    /// that are pending, and takes back words in the buffer. `begins`: what is at `place` was begun, as an instruction is that faults.
    pub(super) fn leave_block(&mut self, place: CachePc, begins: bool) -> Left {
        let Some(at) = self.engine.cache.locate(place) else { return Left { made: 0, has_begun: false, inside: None } };
        let (entry, inside) = (at.entry, at.inside);
        let tables = self.engine.cache.space(at.space).tables;
        let records = Records::of(&tables, at.id);
        let made_here = || records.calls.iter().filter(|call| call.pc == entry.pc && inside >= call.pending);
        let instructions_own = made_here().filter(|call| call.block == 0).count();
        let made = self.begun.made_before(&self.engine.cache, place).saturating_add(instructions_own);
        let has_begun = made > 0 || made_here().next().is_some();
        let is_entered = |block: u64| block != entry.pc || begins || has_begun;
        for call in records.calls.iter().filter(|call| (call.pending..call.made).contains(&inside)) {
            if call.block != 0 && !is_entered(call.block) {
                continue;
            }
            let (descriptor, _) = self.engine.cache.descriptor(at.space, call.descriptor);
            self.flush_counters();
            self.make_call(&descriptor, AppPc(entry.pc));
        }
        if entry.source() == PcSource::Repeats {
            let cpu = self.cpu();
            let again = AppPc(cpu.registers.rip) == self.engine.cache.trace((at.space, at.id)).pc;
            self.cpu().repeating = if again { self.cpu().registers.rip } else { 0 };
        }
        if entry.source() != PcSource::Static {
            return Left { made: 0, has_begun: false, inside: None };
        }
        let thread = self.thread();
        thread.buffer = stream::compensated(thread.buffer, records.words, entry.pc, inside);
        for call in records.block_calls {
            if !(call.first..call.end).contains(&entry.pc) {
                continue;
            }
            let before = instructions(&mut self.engine.code, call.first, entry.pc);
            let all = before + instructions(&mut self.engine.code, entry.pc, call.end);
            let counted = if inside >= call.done { all } else { 0 };
            if counted != before {
                let (descriptor, _) = self.engine.cache.descriptor(at.space, call.descriptor);
                self.flush_counters();
                self.correct(&descriptor, before.wrapping_sub(counted));
            }
        }
        block_counts::leave(at.space, &tables, at.id, entry.pc, inside);
        Left { made, has_begun, inside: self.inside((at.space, at.id), AppPc(entry.pc)) }
    }

    /// Where the app is that executes the instruction at `pc` in a trace.
    fn inside(&mut self, found: Found, pc: AppPc) -> Option<Inside> {
        let block = match self.begun.block_of(&self.engine.cache, found) {
            Some(block) => block.clone(),
            None => {
                let start = self.engine.cache.trace(found).pc;
                Block::around(start, self.engine.code.bytes(start), pc, self.engine.settings.each_repetition)?
            }
        };
        let next = Instruction::decode(self.engine.code.bytes(pc), pc).ok()?.next_pc();
        Some(Inside { block, pc, next })
    }
}

/// Instructions in `start .. end`.
fn instructions(code: &mut AppCode, start: u64, end: u64) -> u64 {
    let (mut at, mut n) = (start, 0);
    while at < end {
        let pc = AppPc(at);
        let Ok(instruction) = Instruction::decode(code.bytes(pc), pc) else { break };
        at = instruction.next_pc().0;
        n += 1;
    }
    n
}
