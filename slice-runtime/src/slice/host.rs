//! What is behind a slice's answers: the log, the end, and what is said if either doesn't fit.
//!
//! Whatever doesn't fit means that this slice can't give a right result. It says so in its slot and stops: nothing
//! is skipped or guessed here, and whether it is tried again from its [first state](super::start) is the control process's choice.

use std::time::Duration;

use bubble::boot::State;
use bubble::end::{End, EndKind, Fatal};
use bubble::files::FileTable;
use bubble::map::CONTROL;
use bubble::shared::SliceStats;
use bubble::switches::Optimisation;
use engine::{Control, Flow, Runner};
use machine::{AppPc, Gpr, Here, Memory, Registers};
use syscall_replay::{Divergence, Replayed, Replayer};
use translator::abi::Cpu;

use crate::ports::{
    AppThread, Calls, Images, OwnSlot, RunningTool, SignalChange, ThreadsTold, requests, signals_behind, stream,
};
use crate::slice::end::ahead::Lookers;
use crate::slice::end::expected_memory::ExpectedMemory;
use crate::slice::end::point::Point;
use crate::slice::end::{deadline, recurrence, verify, xsave_images};
use crate::slice::replay::{Cpuid, OtherThreads, ProgramBreak, Replaying, RunFiles, SliceSpace};
use crate::slice::start::aliases;

/// What follows from a slice that comes to another place than the app, and only then why that may be.
const LIKELY: &str = "So it has read something that the app's own run had otherwise: memory that another process writes, perhaps, which slices \
                      don't see, or what only the processor decides. A serial run (-sp 0) has a total";

/// What a slice that has looked may have seen otherwise.
const LAST_X87: &str = ". The app has looked (fnstenv, fnsave) where its last x87 instruction was: this processor forgets that whenever the kernel gives it \
                        to somebody else, so that what an app computes with it is chance";

/// Runs one slice.
pub struct SliceHost {
    pub(super) files: RunFiles,
    pub(super) slot: OwnSlot,
    pub(super) tool: Box<dyn RunningTool>,
    pub(super) images: Images,
    pub(super) calls: Calls,
    /// The app's thread that has the turn.
    pub(super) thread: AppThread,
    /// Those that haven't.
    pub(super) others: OtherThreads,
    pub(super) told: ThreadsTold,
    pub(super) replaying: Replaying,
    pub(super) program_break: ProgramBreak,
    pub(super) end: &'static End,
    /// Where a signal comes next, or a turn ends, in the midst of the app's code.
    pub(super) point: Option<Box<Point>>,
    /// What memory is to be there.
    pub(super) expected: ExpectedMemory,
    /// To how many it has come.
    pub(super) points: u64,
    pub(super) lookers: Lookers,
    pub(super) memory: Here,
    pub(super) cpuid: Cpuid,
    pub(super) full_checks: u64,
    pub(super) stack_checks: u64,
    pub(super) memory_checks: u64,
    /// Whether another process wrote to memory that this slice has looked at, before the slice's end.
    shared_changed: bool,
    /// Whether the last of these found the end to be right.
    pub(super) is_verified: bool,
    /// The last match of the signature that was none of memory.
    pub(super) refused: Option<verify::Difference>,
    /// Of the states at the end's address that were refused for their registers, the one nearest to the end: in what it differed.
    pub(super) nearest: Option<String>,
    /// After the end: whether the app, going on, comes back to it.
    pub(super) watch: Option<recurrence::Watch>,
}

impl SliceHost {
    /// The host of a slice whose slot has been released, and which starts with the app's break at `brk`.
    pub fn new(supervisor: i32, slot: OwnSlot, brk: u64, tool: Box<dyn RunningTool>) -> Self {
        Self {
            // SAFETY: a slice's CONTROL is mapped, as long as it lives.
            files: RunFiles { supervisor, table: unsafe { FileTable::at(CONTROL.start as *const u8) } },
            slot,
            images: Images::default(),
            calls: Calls::new(tool.as_ref()),
            thread: AppThread::first(0),
            others: OtherThreads::default(),
            told: ThreadsTold::default(),
            tool,
            replaying: Replaying::new(slot.log()),
            program_break: ProgramBreak::at(brk),
            end: slot.end(),
            point: None,
            expected: ExpectedMemory::default(),
            points: 0,
            lookers: Lookers::default(),
            memory: Here::new(),
            // SAFETY: a slice's CONTROL is mapped.
            cpuid: Cpuid::by(unsafe { &crate::ports::header().cpuid }),
            full_checks: 0,
            stack_checks: 0,
            memory_checks: 0,
            shared_changed: false,
            is_verified: false,
            refused: None,
            nearest: None,
            watch: None,
        }
    }

    /// To be called before the first instruction: a slice without records is looking for its end from the start. `state`: what it goes on from. Returns whether
    /// there is anything to be executed.
    pub fn start(&mut self, engine: &mut Runner, state: &State) -> Flow {
        self.thread.tid = state.tid as i32;
        self.begin_threads(engine.cpu());
        self.told.goes_on(&self.thread, state.begins_program(), engine.cpu(), self.tool.as_ref());
        let behind = &state.behind;
        let Self { images, calls, tool, .. } = self;
        images.begin(behind.mapped(), tool.as_ref(), || calls.behind(behind.made(), tool.as_ref()));
        signals_behind(behind, &engine.cpu().registers, &self.memory, self.tool.as_ref());
        xsave_images::disown();
        deadline::set(self.cpu_bound());
        // SAFETY: a slice's CONTROL is mapped.
        let may_be_fast = unsafe { crate::ports::header() }.off.leaves(Optimisation::FastPath);
        // Who goes round the runtime tells no tool.
        if may_be_fast && !self.calls.is_on() {
            self.replaying.shorten(self.slot.log(), engine);
        }
        engine.with_cpu(|cpu, control| self.first_turn(cpu, control))
    }

    /// CPU time that the slice may use; zero: as much as it likes.
    pub(super) fn cpu_bound(&self) -> Duration {
        self.slot.cpu_bound() * stream::patience() * self.tool.patience()
    }

    /// The tool is told of the signal that ends the app, if that is what ends the slice. To be called when the engine was left.
    pub fn tell_of_death(&self) {
        let Fatal { signal, origin } = self.end.fatal;
        if signal != 0 && !requests::is_left() {
            let pc = self.end.registers.rip;
            self.tell_of_signal(|_| SignalChange::Fatal { signal: signal as i32, origin, pc });
        }
    }

    /// Hands in the result. To be called when the engine was left.
    ///
    /// # Errors
    /// If the tool can't encode its result.
    pub fn finish(&self, engine: SliceStats) -> Result<(), String> {
        let stats = SliceStats {
            full_checks: self.full_checks,
            stack_checks: self.stack_checks,
            memory_checks: self.memory_checks,
            verified: self.is_verified.into(),
            shared_changed: self.shared_changed.into(),
            ..engine
        };
        self.slot.publish(self.tool.as_ref(), stats)
    }

    /// Whether the end was found by its state, and the app might come back to that. To be asked before the result is handed in.
    pub fn may_recur(&self) -> bool {
        let End { kind, goes_on, .. } = *self.end;
        let comes_to_input = || self.slot.successor().is_some_and(|next| self.slot.comes_to_input(next));
        kind == EndKind::Signature && !requests::is_left() && !(goes_on == 1 && comes_to_input())
    }

    /// The result is handed in. The app is to go on for a while and be watched: whether it comes back to the end's state, if that
    /// may be. Returns whether that makes sense.
    pub fn watch_for_recurrence(&mut self, may_recur: bool) -> bool {
        if may_recur {
            self.watch = recurrence::Watch::start();
        }
        self.watch.is_some()
    }

    /// The app has called a function of the vsyscall page: what the kernel answered was recorded as a system call, if the
    /// supervisor knew of the call.
    pub(super) fn call_of_page(&mut self, pc: u64, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let unknown = |host: &Self| -> ! {
            host.fail(&format_args!(
                "the app calls the vsyscall page at {pc:#x}: what the kernel answered isn't recorded"
            ))
        };
        let (Some(number), Ok(back)) = (syscall_replay::table::vsyscall(pc), self.memory.read_u64(cpu.registers.rsp()))
        else {
            unknown(self)
        };
        let mut registers = cpu.registers;
        registers.set(Gpr::Rax, number as u64);
        let (memory, files, program_break) = (self.memory, self.files, &mut self.program_break);
        let mut space = SliceSpace { memory, files, program_break, control: &mut *control };
        let Ok(Replayed::Done) = self.replaying.replay(|log| log.syscall(&mut registers, &mut space)) else {
            unknown(self)
        };
        cpu.registers.set(Gpr::Rax, registers.get(Gpr::Rax));
        cpu.registers.set(Gpr::Rsp, cpu.registers.rsp().wrapping_add(8));
        cpu.registers.rip = back;
        self.arm_next(control);
        Flow::Continue
    }

    /// The slice made a system call after its last record.
    pub(super) fn call_at_end(&mut self, cpu: &Cpu, control: &mut dyn Control) -> Flow {
        let name = syscall_replay::table::name(cpu.registers.get(Gpr::Rax));
        let pc = cpu.registers.rip.wrapping_sub(SYSCALL_LEN);
        if self.end.kind == EndKind::Signature {
            self.missed(&format_args!("{name} at {pc:#x}"));
        }
        if let Some(difference) = call_difference(&self.end.registers, &cpu.registers) {
            self.fail(&format_args!("its last call, {name} at {pc:#x}, isn't the master's: {difference}"));
        }
        let (number, args) = (cpu.registers.get(Gpr::Rax), cpu.registers.syscall_args());
        self.images.ends_with(number, args, self.tool.as_ref());
        if [libc::SYS_exit, libc::SYS_exit_group].contains(&(number as i64)) {
            self.told.ends(&self.thread, args[0], cpu, self.tool.as_ref());
        }
        self.tell_of_last_call(cpu, control);
        self.shared_changed = sigmatch::foreign_write(&self.end.shared, &self.memory, aliases::is_touched).is_some();
        Flow::Leave
    }

    /// Who is killed behind a call has made it: no next slice tells of that. One that a deadly signal has broken off is never over.
    fn tell_of_last_call(&mut self, cpu: &Cpu, control: &mut dyn Control) {
        let record = self.slot.last_call();
        if !self.calls.is_on() || record.is_empty() || self.slot.successor().is_some() {
            return;
        }
        let mut registers = cpu.registers;
        let (memory, files, program_break) = (self.memory, self.files, &mut self.program_break);
        let mut space = SliceSpace { memory, files, program_break, control };
        if let Err(divergence) = Replayer::new(record).call(&mut registers, &mut space) {
            self.diverged(&divergence);
        }
        let result = registers.get(Gpr::Rax);
        if result != -i64::from(libc::EINTR) as u64 {
            self.calls.made(result, self.tool.as_ref());
        }
    }

    pub(super) fn missed(&self, came_to: &dyn std::fmt::Display) -> ! {
        let expected = self.sought().registers.rip;
        let what = if self.point.is_some() { "the place where a signal came or a turn ended" } else { "its end" };
        let Some(refused) = self.refused else {
            let nearest = self.nearest.as_ref().map_or_else(
                || "It never was there with the values that are compared first".to_owned(),
                |difference| format!("Of the states there, the nearest to that had {difference}"),
            );
            self.fail(&format_args!("missed {what} at {expected:#x}: it came to {came_to}. {nearest}. {LIKELY}"));
        };
        let verify::Difference { address, expected: word } = refused;
        self.fail(&format_args!(
            "missed {what} at {expected:#x}: it came to {came_to}. Registers and stack had matched {} times, \
             the last time with another word than {word:#x} at {address:#x}. {LIKELY}",
            self.memory_checks
        ));
    }

    /// Keeps in what the state at the end's address differs, if no other one was nearer.
    pub(super) fn note_difference(&mut self, cpu: &Cpu) {
        let difference = sigmatch::explain(self.sought(), &cpu.registers, &cpu.xstate, &self.memory);
        if self.nearest.as_ref().is_none_or(|nearest| difference.len() < nearest.len()) {
            self.nearest = Some(difference);
        }
    }

    /// Names something in which the state differs from the end, if that isn't a general register: those are known to the engine.
    pub(super) fn name_difference(&self, cpu: &Cpu, control: &mut dyn Control) {
        let sought = self.sought();
        if let Some((quadword, value)) = sigmatch::vector_difference(&sought.xstate, &cpu.xstate) {
            control.require_vector(quadword, value);
        } else if let Some(word) =
            sigmatch::stack_difference(sought, &cpu.registers, &self.memory, xsave_images::stored())
        {
            control.require_word(sought.registers.rsp() + word as u64 * 8, sought.stack[word]);
        }
    }

    /// An instruction whose result must be the master's. The supervisor records those that it knows of
    /// (`supervisor::sliced::random`); any other must not be executed again: the slice might come to another total unseen.
    pub(super) fn random(&mut self, len: u64, cpu: &mut Cpu, control: &mut dyn Control) -> Flow {
        let pc = cpu.registers.rip.wrapping_sub(len);
        let name = self.instruction_name(pc);
        match self.replaying.replay(|log| log.random(name, pc, &mut cpu.registers)) {
            Ok(Replayed::Done | Replayed::Restored(_) | Replayed::Delivered(..)) => {
                self.arm_next(control);
                Flow::Continue
            }
            Ok(Replayed::Exhausted) => self.fail(&format_args!("{name} at {pc:#x}: {NOT_RECORDED}")),
            Err(divergence) => self.fail(&format_args!("{name} at {pc:#x}: {NOT_RECORDED} ({divergence})")),
        }
    }

    fn instruction_name(&self, pc: u64) -> &'static str {
        let mut code = [0; isa::MAX_LEN];
        let len = self.memory.read_prefix(pc, &mut code);
        isa::Instruction::decode(&code[..len], AppPc(pc)).map_or("an instruction", |found| found.mnemonic())
    }

    pub(super) fn diverged(&self, divergence: &Divergence) -> ! {
        if self.point.is_some() {
            self.missed(&divergence.got);
        }
        self.fail(divergence)
    }

    pub(super) fn fail(&self, what: &dyn std::fmt::Display) -> ! {
        let chance = if xsave_images::stored().show_last_x87() { LAST_X87 } else { "" };
        self.slot.fail(&format_args!("{what}{chance}"))
    }
}

/// Length of the `syscall` instruction.
pub(super) const SYSCALL_LEN: u64 = 2;
/// Where the kernel's addresses begin, the vsyscall page among them.
pub(super) const KERNEL: u64 = 1 << 63;
/// Why an instruction can't be executed again.
const NOT_RECORDED: &str = "its result can't be found out again and was not recorded where the app ran";

/// Compares the registers of the call at a slice's end. rcx and r11 are left out: when the master was looked at, the
/// `syscall` instruction had already overwritten them.
fn call_difference(end: &Registers, now: &Registers) -> Option<String> {
    let gpr = Gpr::ALL.into_iter().filter(|r| !matches!(r, Gpr::Rcx | Gpr::R11));
    let mut pairs = gpr.map(|r| (r.name(), end.get(r), now.get(r))).chain([
        ("rip", end.rip, now.rip),
        ("fs base", end.fs_base, now.fs_base),
        ("gs base", end.gs_base, now.gs_base),
    ]);
    pairs
        .find(|(_, expected, got)| expected != got)
        .map(|(name, expected, got)| format!("expected {name} {expected:#x}, got {got:#x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_that_the_syscall_instruction_overwrites_are_not_compared() {
        let end = Registers { rip: 0x1002, ..Registers::default() };
        let mut now = end;
        now.set(Gpr::Rcx, 1);
        now.set(Gpr::R11, 2);
        assert_eq!(call_difference(&end, &now), None);
        now.set(Gpr::Rdi, 3);
        assert_eq!(call_difference(&end, &now).as_deref(), Some("expected rdi 0x0, got 0x3"));
    }
}
