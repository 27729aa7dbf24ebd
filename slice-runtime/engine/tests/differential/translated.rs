//! Running a program under the engine.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use bubble::map::{self, Region};
use engine::{Control, Fault, Flow, Host, Nondeterministic, Runner, Settings};
use isa::Kind;
use isa::random::Program;
use machine::{Gpr, flags};
use translator::abi::Cpu;
use translator::trace::{AnalysisCall, Arg, Instrument, Point, Test, Trace, has_after, may_branch};

use crate::Outcome;
use crate::arena::Arena;
use crate::state::State;
use crate::stepper::Stepper;
use crate::stream;

fn map_region(region: Region, access: i32) {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED | libc::MAP_NORESERVE;
    // SAFETY: nothing else lies in the bubble of a test process, and its last owner is gone.
    let p = unsafe { libc::mmap(region.start as *mut _, region.size as usize, access, flags, -1, 0) };
    assert_eq!(p as u64, region.start);
}

/// An engine for many programs.
pub struct Translated {
    engine: Box<Runner>,
    instrument: fn(&mut Trace),
    timer: Option<Timer>,
    /// What the last run wrote into the buffer.
    pub stream: Vec<u64>,
    /// What it counted by [`insert_steps`].
    pub steps: u64,
}

struct Observer {
    stream: Vec<u64>,
    instrument: fn(&mut Trace),
    outcome: Option<Outcome>,
    code: u64,
    /// For each offset of the code, whether an instruction starts there.
    starts: HashMap<usize, bool>,
}

/// Bytes of code that are compared at most.
const CODE_COMPARED: u64 = 1 << 20;

/// How often a program was interrupted.
pub static INTERRUPTIONS: AtomicU64 = AtomicU64::new(0);

/// A timer that interrupts this thread.
struct Timer(libc::timer_t);

impl Timer {
    fn new() -> Timer {
        engine::on_signal(|_, _, _| {
            engine::interrupt();
            true
        });
        engine::install_signal(libc::SIGALRM, libc::SA_RESTART).expect("a handler can be set");
        let mut timer = std::ptr::null_mut();
        // SAFETY: sigevent is plain data for which zero is valid; the pointers are valid.
        unsafe {
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGALRM;
            event.sigev_notify_thread_id = libc::gettid();
            assert_eq!(libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer), 0);
        }
        Timer(timer)
    }

    /// Goes off once after so many nanoseconds; never if 0.
    fn set(&self, nanoseconds: i64) {
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let value =
            libc::itimerspec { it_interval: zero, it_value: libc::timespec { tv_sec: 0, tv_nsec: nanoseconds } };
        // SAFETY: a valid timer and value.
        assert_eq!(unsafe { libc::timer_settime(self.0, 0, &raw const value, std::ptr::null_mut()) }, 0);
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: made by `new`.
        unsafe { libc::timer_delete(self.0) };
    }
}

/// Where the program's instructions start; by offset, and only as far as the program goes.
fn starts(program: &Program) -> HashMap<usize, bool> {
    let mut starts = HashMap::new();
    for (offset, code) in program.parts() {
        starts.extend((0..code.len()).map(|at| (offset + at, false)));
    }
    program.visit(|offset, _| {
        starts.insert(offset, true);
    });
    starts
}

impl Instrument for Observer {
    fn instrument(&self, trace: &mut Trace) {
        (self.instrument)(trace);
    }
}

impl Host for Observer {
    fn drain(&mut self, words: &[u64]) {
        self.stream.extend(words);
    }

    fn syscall(&mut self, _cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        self.outcome = Some(Outcome::End);
        Flow::Leave
    }

    fn nondeterministic(&mut self, what: Nondeterministic, _cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        panic!("{what:?} isn't generated")
    }

    fn end_reached(&mut self, _cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        panic!("no end was armed")
    }

    fn fault(&mut self, fault: &Fault, cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        self.outcome = Some(Outcome::Fault(fault.signal, cpu.registers.rip.wrapping_sub(self.code)));
        Flow::Leave
    }

    fn unsupported(&mut self, reason: &str, _cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        panic!("{reason}")
    }

    fn interrupted(&mut self, cpu: &mut Cpu, _control: &mut dyn Control) -> Flow {
        let offset = cpu.registers.rip.wrapping_sub(self.code) as usize;
        // Elsewhere the program is on its way to a fault.
        let is_start = self.starts.get(&offset).is_none_or(|is_start| *is_start);
        assert!(is_start, "interrupted at {offset:#x}, in the middle of an instruction");
        INTERRUPTIONS.fetch_add(1, Ordering::Relaxed);
        Flow::Continue
    }
}

/// How a run is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruptions {
    No,
    /// Once, after so many nanoseconds.
    After(u64),
    /// At instructions of translated code that the seed chooses.
    Steps(u64),
}

impl Interruptions {
    /// Words that the buffer has room for at first: often it is full in mid-program.
    fn room(self) -> u64 {
        match self {
            Interruptions::No => 0,
            Interruptions::After(number) | Interruptions::Steps(number) => number % 61,
        }
    }
}

impl Translated {
    pub fn new(settings: Settings, instrument: fn(&mut Trace)) -> Translated {
        let data = libc::PROT_READ | libc::PROT_WRITE;
        for region in [map::THREADS, map::TABLES_OWN, map::LOCAL, map::BUFFER] {
            map_region(region, data);
        }
        map_region(map::CACHE_OWN, data | libc::PROT_EXEC);
        let settings = Settings { off: settings.off.on_this_processor(), ..settings };
        // SAFETY: the regions were just mapped, and the lock of the process is held.
        Translated { engine: unsafe { Runner::new(settings) }, instrument, timer: None, stream: Vec::new(), steps: 0 }
    }

    /// From now on [`Translated::run_again`] is interrupted.
    pub fn interrupt(&mut self) {
        self.timer = Some(Timer::new());
    }

    /// Whether programs are to be run again with interruptions.
    pub fn is_interrupted(&self) -> bool {
        self.timer.is_some()
    }

    /// A number that stands for all code made so far, and where it lies.
    pub fn code(&self) -> u64 {
        // Traces start at multiples of 16, and the shortest are some bytes long. Stubs lie at the cache's end, but what leads to them doesn't.
        let len = (4 * self.engine.stats().cache_bytes + 4096).min(CODE_COMPARED) as usize / 8;
        // SAFETY: the cache is mapped, and translated code doesn't run.
        let code = unsafe { std::slice::from_raw_parts(map::CACHE_OWN.start as *const u64, len) };
        let mixed = |hash: u64, word: &u64| (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        code.iter().fold(self.engine.stats().cache_bytes, mixed)
    }

    /// Instruments in another way from the next program on.
    pub fn set_instrument(&mut self, instrument: fn(&mut Trace)) {
        self.instrument = instrument;
    }

    /// Runs the program, which was just loaded, from `start`.
    pub fn run(&mut self, arena: &Arena, program: &Program, start: &State) -> (Outcome, State) {
        self.forget(arena);
        self.run_again(arena, program, start, Interruptions::No)
    }

    /// The program was loaded.
    pub fn forget(&mut self, arena: &Arena) {
        arena.loaded().into_iter().for_each(|(start, len)| self.engine.control().code_changed(start, len));
    }

    /// Runs the same program again.
    pub fn run_again(
        &mut self,
        arena: &Arena,
        program: &Program,
        start: &State,
        interruptions: Interruptions,
    ) -> (Outcome, State) {
        let layout = arena.layout();
        let cpu = self.engine.cpu();
        cpu.registers = start.registers;
        cpu.xstate = start.xstate.clone();
        let before = counters();
        let mut observer = Observer {
            instrument: self.instrument,
            outcome: None,
            code: layout.code,
            starts: starts(program),
            stream: Vec::new(),
        };
        let filled = stream::fill_but(interruptions.room());
        self.run_interrupted(&mut observer, interruptions);
        engine::stream::take(|words| observer.stream.extend(words));
        self.stream = observer.stream.split_off(filled);
        let cpu = self.engine.cpu();
        let state = State { registers: cpu.registers, xstate: cpu.xstate.clone() };
        let outcome = observer.outcome.expect("the engine left only when told to");
        if outcome == Outcome::End {
            assert_eq!(state.registers.rip, layout.code + program.end as u64 + 2);
        }
        self.steps = counters().steps.wrapping_sub(before.steps);
        check_counters(before, counters(), outcome);
        (outcome, state)
    }

    fn run_interrupted(&mut self, observer: &mut Observer, interruptions: Interruptions) {
        match interruptions {
            Interruptions::No => self.engine.run(observer),
            Interruptions::After(time) => {
                let timer = self.timer.as_ref().expect("prepared for interruptions");
                timer.set(time as i64);
                self.engine.run(observer);
                timer.set(0);
            }
            Interruptions::Steps(seed) => {
                self.engine.cpu().registers.rflags |= flags::TF;
                let _stepper = Stepper::new(seed);
                self.engine.run(observer);
            }
        }
    }
}

/// Local state: three counters, and a place for what routines see.
#[repr(C)]
#[derive(Clone, Copy)]
struct Local {
    by_instruction: u64,
    by_block: u64,
    by_call: u64,
    seen: [u64; 8],
    /// How often a test said yes that was put in place, or called; how often the calls were made, and with what.
    tested: [u64; 2],
    chosen: [u64; 2],
    ways: [u64; 2],
    passed: [u64; 2],
    mixed: [u64; 2],
    /// Instructions that may have calls behind them: executed, and such calls made; conditional branches that were said to be taken, and were.
    around: [u64; 4],
    /// Instructions, of which [`check_counters`] knows nothing.
    steps: u64,
}

fn counters() -> Local {
    // SAFETY: LOCAL is mapped; routines, which alone write to it, aren't running.
    unsafe { (map::LOCAL.start as *const Local).read() }
}

/// Inlined and called routines see the same arguments. Both ways to count agree, also if the program ends by a fault: what didn't take effect isn't counted.
/// And an interruption doesn't make a call twice.
fn check_counters(before: Local, now: Local, outcome: Outcome) {
    let by_instruction = now.by_instruction.wrapping_sub(before.by_instruction);
    let by_block = now.by_block.wrapping_sub(before.by_block);
    assert_eq!(now.seen[4].wrapping_add(now.seen[5]), 0, "counted in parts, {outcome:x?}");
    assert_eq!(now.seen[0], now.seen[1], "arguments seen by the inlined and by the called routine, {outcome:x?}");
    assert_eq!(by_instruction, by_block, "counted by instruction and by block, {outcome:x?}");
    assert_eq!(
        (now.chosen[0], now.ways[0]),
        (now.chosen[1], now.ways[1]),
        "branches in place and called, {outcome:x?}"
    );
    assert_eq!(now.tested, now.passed, "tests that said yes and calls, {outcome:x?}");
    assert_eq!((now.tested[0], now.mixed[0]), (now.tested[1], now.mixed[1]), "tests in place and called, {outcome:x?}");
    let around: [u64; 4] = std::array::from_fn(|n| now.around[n].wrapping_sub(before.around[n]));
    assert_eq!(around[0], around[1], "executed, and calls behind, {outcome:x?} {around:?}");
    assert_eq!(around[2], around[3], "said to be taken, and taken, {outcome:x?}");
    let by_call = now.by_call.wrapping_sub(before.by_call);
    if by_call != 0 {
        // Nothing is taken back of what is done before an instruction that faults.
        let too_many = by_call.wrapping_sub(by_instruction);
        let most = u64::from(matches!(outcome, Outcome::Fault(..)));
        assert!(too_many <= most, "counted by calls {by_call}, by instruction {by_instruction}, {outcome:x?}");
    }
}

extern "C" fn count_instruction(l: &mut Local, n: u64) {
    l.by_instruction = l.by_instruction.wrapping_add(n);
}

/// The same, but not to be inlined.
extern "C" fn count_out_of_line(l: &mut Local, n: u64) {
    for _ in 0..std::hint::black_box(1) {
        l.by_instruction = l.by_instruction.wrapping_add(n);
    }
}

extern "C" fn count_call(l: &mut Local, n: u64) {
    l.by_call = l.by_call.wrapping_add(n);
}

/// The same, but not to be inlined.
extern "C" fn count_call_out_of_line(l: &mut Local, n: u64) {
    for _ in 0..std::hint::black_box(1) {
        l.by_call = l.by_call.wrapping_add(n);
    }
}

/// Changes two words whose sum stays the same.
extern "C" fn count_in_parts(l: &mut Local) {
    l.seen[4] = l.seen[4].wrapping_add(3);
    l.seen[5] = l.seen[5].wrapping_sub(3);
}

/// Counts in several steps.
extern "C" fn count_call_in_parts(l: &mut Local, n: u64) {
    l.by_call = l.by_call.wrapping_add(n);
    l.seen[4] = l.seen[4].wrapping_add(n);
    l.seen[5] = l.seen[5].wrapping_sub(n);
}

extern "C" fn count_block(l: &mut Local, n: u64) {
    l.by_block = l.by_block.wrapping_add(n);
}

/// Counts each instruction in one counter and each block in another; and each instruction again, in a way that nobody corrects.
pub fn insert_counters(trace: &mut Trace) {
    let call_with = |point, routine, arg| AnalysisCall::new(point, routine, map::LOCAL.start, vec![arg]);
    let call = |point, routine| call_with(point, routine, Arg::BlockInstructions);
    for n in 0..trace.instructions.len() {
        let inlined = !trace.instructions[n].pc().0.is_multiple_of(7);
        let routine = if inlined { count_instruction as *const () } else { count_out_of_line as *const () };
        trace.calls.push(call(Point::Before(n), routine as usize));
        let routine = match trace.instructions[n].pc().0 % 11 {
            0 => count_call_out_of_line as *const (),
            1..4 => count_call_in_parts as *const (),
            _ => count_call as *const (),
        };
        trace.calls.push(call_with(Point::Before(n), routine as usize, Arg::Const(1)));
    }
    for n in 0..trace.block_ends.len() {
        trace.calls.push(call(Point::Anywhere(n), count_block as *const () as usize));
    }
}

/// Counts in all three ways, but only some instructions, which the code alone chooses.
pub fn insert_some_counters(trace: &mut Trace) {
    for n in 0..trace.instructions.len() {
        if trace.instructions[n].pc().0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59 != 0 {
            continue;
        }
        let ways = [
            (count_instruction as *const (), Arg::BlockInstructions),
            (count_block as *const (), Arg::BlockInstructions),
            (count_call_out_of_line as *const (), Arg::Const(1)),
        ];
        for (routine, arg) in ways {
            trace.calls.push(AnalysisCall::new(Point::Before(n), routine as usize, map::LOCAL.start, vec![arg]));
        }
    }
}

/// Counts blocks only, in two counters.
pub fn insert_block_counters(trace: &mut Trace) {
    for n in 0..trace.block_ends.len() {
        for routine in [count_instruction as *const (), count_block as *const ()] {
            let args = vec![Arg::BlockInstructions];
            trace.calls.push(AnalysisCall::new(Point::Anywhere(n), routine as usize, map::LOCAL.start, args));
        }
    }
}

extern "C" fn count_step(l: &mut Local, n: u64) {
    l.steps = l.steps.wrapping_add(n);
}

/// The same, but not to be inlined.
extern "C" fn count_step_out_of_line(l: &mut Local, n: u64) {
    for _ in 0..std::hint::black_box(1) {
        count_step(l, n);
    }
}

/// Counts each instruction, and does nothing else: one addition for a block is enough.
pub fn insert_steps(trace: &mut Trace) {
    insert_each(trace, count_step as *const () as usize);
}

/// The same by calls, which can't be made one.
pub fn insert_steps_called(trace: &mut Trace) {
    insert_each(trace, count_step_out_of_line as *const () as usize);
}

fn insert_each(trace: &mut Trace, routine: usize) {
    let call = |n| AnalysisCall::new(Point::Before(n), routine, map::LOCAL.start, vec![Arg::BlockInstructions]);
    trace.calls.extend((0..trace.instructions.len()).map(call));
}

/// Mixes what it is given into a sum: short enough to be inlined.
extern "C" fn mix(l: &mut Local, a: u64, b: u64, c: u64) {
    l.seen[0] = l.seen[0].rotate_left(7) ^ a.wrapping_add(b << 1).wrapping_add(c);
}

/// The same into another sum, and called.
extern "C" fn mix_out_of_line(l: &mut Local, a: u64, b: u64, c: u64) {
    for _ in 0..std::hint::black_box(1) {
        l.seen[1] = l.seen[1].rotate_left(7) ^ a.wrapping_add(b << 1).wrapping_add(c);
    }
}

/// Does one thing or another, in one step or in two.
extern "C" fn choose(l: &mut Local, a: u64, b: u64, c: u64) {
    if a & 16 != 0 {
        l.chosen[0] = l.chosen[0].rotate_left(7) ^ a.wrapping_add(c);
    } else if b > c {
        l.chosen[0] = l.chosen[0].wrapping_add(b);
        l.ways[0] = l.ways[0].wrapping_add(1);
    }
}

/// The same, and called.
extern "C" fn choose_out_of_line(l: &mut Local, a: u64, b: u64, c: u64) {
    for _ in 0..std::hint::black_box(1) {
        if a & 16 != 0 {
            l.chosen[1] = l.chosen[1].rotate_left(7) ^ a.wrapping_add(c);
        } else if b > c {
            l.chosen[1] = l.chosen[1].wrapping_add(b);
            l.ways[1] = l.ways[1].wrapping_add(1);
        }
    }
}

/// Uses all that a routine may use: vector registers, x87, the stack, flags.
extern "C" fn work(l: &mut Local, a: u64, b: u64, c: u64, d: u64, e: u64) {
    let text = format!("{a:x}{b}{:?}{:e}", c as f64 / 3.0, d as f64);
    l.seen[3] = l.seen[3].wrapping_add(text.len() as u64 + e);
}

/// Calls of both kinds with all kinds of arguments, at places that depend on the code alone.
pub fn insert_calls(trace: &mut Trace) {
    for n in 0..trace.instructions.len() {
        let instruction = &trace.instructions[n];
        let choice = instruction.pc().0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        let operand = instruction.memory_operands().iter().position(|m| !m.inexact);
        let address = operand.map_or(Arg::Const(7), Arg::MemoryAddress);
        let register = Arg::Register(Gpr::ALL[choice as usize % 16]);
        let (routines, args): (&[*const ()], _) = match choice % 7 {
            0 => (&[work as *const ()], vec![register, address, Arg::InstructionPointer, register, Arg::Const(9)]),
            1 | 2 => (&[mix as *const (), mix_out_of_line as *const ()], vec![register, address, Arg::Const(1 << 40)]),
            3 => (&[mix_out_of_line as *const (), mix as *const ()], vec![Arg::InstructionPointer, address, register]),
            4 => {
                (&[choose as *const (), choose_out_of_line as *const ()], vec![address, register, Arg::Const(1 << 20)])
            }
            5 => (
                &[choose as *const (), choose_out_of_line as *const ()],
                vec![Arg::InstructionPointer, register, address],
            ),
            _ => continue,
        };
        let predicated = choice & 1 == 0;
        for routine in routines {
            let (routine, args) = (*routine as usize, args.clone());
            let call = AnalysisCall::new(Point::Before(n), routine, map::LOCAL.start, args);
            trace.calls.push(AnalysisCall { predicated, ..call });
        }
    }
}

/// Says yes to some of what it is given, and counts how often.
extern "C" fn test(l: &mut Local, a: u64, b: u64) -> u64 {
    let yes = (a ^ b) & 3 == 0;
    l.tested[0] = l.tested[0].wrapping_add(u64::from(yes));
    u64::from(yes)
}

/// The same, and called.
extern "C" fn test_out_of_line(l: &mut Local, a: u64, b: u64) -> u64 {
    let yes = std::hint::black_box(a ^ b) & 3 == 0;
    for _ in 0..std::hint::black_box(u64::from(yes)) {
        l.tested[1] = l.tested[1].wrapping_add(1);
    }
    u64::from(yes)
}

extern "C" fn tested(l: &mut Local, which: u64, a: u64, b: u64) {
    let which = which as usize;
    l.passed[which] = l.passed[which].wrapping_add(1);
    l.mixed[which] = l.mixed[which].rotate_left(7) ^ a.wrapping_add(b << 1);
}

/// Calls with tests that are put in place and tests that are called, before the same instructions.
pub fn insert_tested(trace: &mut Trace) {
    for n in 0..trace.instructions.len() {
        let choice = trace.instructions[n].pc().0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        let operand = trace.instructions[n].memory_operands().iter().position(|m| !m.inexact);
        let address = operand.map_or(Arg::InstructionPointer, Arg::MemoryAddress);
        let register = Arg::Register(Gpr::ALL[choice as usize % 16]);
        let routines = [test as *const () as usize, test_out_of_line as *const () as usize];
        for (which, routine) in routines.into_iter().enumerate() {
            let args = vec![Arg::Const(which as u64), register, address];
            let call = AnalysisCall::new(Point::Before(n), tested as *const () as usize, map::LOCAL.start, args);
            let test = Some(Test { routine, args: vec![register, address] });
            trace.calls.push(AnalysisCall { test, ..call });
        }
    }
}

extern "C" fn count_around(l: &mut Local, which: u64, n: u64) {
    l.around[which as usize & 3] = l.around[which as usize & 3].wrapping_add(n);
}

/// The same, but not to be inlined.
extern "C" fn count_around_out_of_line(l: &mut Local, which: u64, n: u64) {
    for _ in 0..std::hint::black_box(1) {
        l.around[which as usize & 3] = l.around[which as usize & 3].wrapping_add(n);
    }
}

/// Calls behind instructions and taken branches, in place and out of line, of one step and of several.
pub fn insert_around(trace: &mut Trace) {
    let (instructions, calls) = (&trace.instructions, &mut trace.calls);
    for (n, instruction) in instructions.iter().enumerate() {
        let choice = instruction.pc().0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        let counts = [count_around as *const (), count_around_out_of_line as *const ()];
        let mut add = |point, routine, args| {
            calls.push(AnalysisCall::new(point, routine as usize, map::LOCAL.start, args));
        };
        let count = |which, n| vec![Arg::Const(which), n];
        let conditional = matches!(instruction.kind(), Kind::Branch { .. } | Kind::CountBranch { .. });
        let register = Arg::Register(Gpr::ALL[choice as usize % 16]);
        if has_after(instruction) {
            add(Point::After(n), counts[choice as usize & 1], count(1, Arg::Const(1)));
            if choice & 4 == 0 {
                for routine in [mix_out_of_line as *const (), mix as *const ()] {
                    add(Point::After(n), routine, vec![register, Arg::InstructionPointer, Arg::BranchTaken]);
                }
            }
            if choice & 8 == 0 {
                add(Point::After(n), count_in_parts as *const (), vec![]);
            }
        }
        if may_branch(instruction) {
            for routine in [mix as *const (), mix_out_of_line as *const ()] {
                add(Point::Taken(n), routine, vec![Arg::BranchTarget, register, Arg::BranchTaken]);
            }
            add(Point::Taken(n), counts[choice as usize >> 1 & 1], count(1, Arg::Const(1)));
            if conditional {
                add(Point::Taken(n), counts[choice as usize >> 2 & 1], count(3, Arg::BranchTaken));
                add(Point::Before(n), counts[choice as usize >> 3 & 1], count(2, Arg::BranchTaken));
            }
        }
        if has_after(instruction) || may_branch(instruction) {
            add(Point::Before(n), counts[choice as usize >> 4 & 1], count(0, Arg::BlockInstructions));
        }
    }
}

extern "C" fn count_executed(l: &mut Local, n: u64) {
    l.around[0] = l.around[0].wrapping_add(n);
}

extern "C" fn count_behind(l: &mut Local, n: u64) {
    l.around[1] = l.around[1].wrapping_add(n);
}

/// Of these only additions of constants to counters: they may be made in a register, or in shards.
pub fn insert_counters_behind(trace: &mut Trace) {
    insert_around(trace);
    let counts = [count_around as *const () as usize, count_around_out_of_line as *const () as usize];
    trace.calls.retain(|call| counts.contains(&call.routine) && call.args[1] != Arg::BranchTaken);
    for call in &mut trace.calls {
        let counter = if call.args.remove(0) == Arg::Const(0) { count_executed } else { count_behind };
        call.routine = counter as *const () as usize;
    }
}

#[test]
fn one_of_the_two_is_inlined() {
    let inlined = |routine: extern "C" fn(&mut Local, u64, u64, u64)| {
        // SAFETY: a function's code is readable, and what follows it in this program's text too.
        let code = unsafe { std::slice::from_raw_parts(routine as usize as *const u8, 256) };
        isa::routine::inline(code, routine as usize as u64, &[Some(1 << 30), None, None, Some(3), None, None]).is_some()
    };
    assert!(inlined(mix) && !inlined(mix_out_of_line));
    let test_in_place = |routine: extern "C" fn(&mut Local, u64, u64) -> u64| {
        // SAFETY: as above.
        let code = unsafe { std::slice::from_raw_parts(routine as usize as *const u8, 256) };
        let known = [Some(1 << 30), None, None, None, None, None];
        isa::routine::inline_with_result(code, routine as usize as u64, &known).is_some()
    };
    assert!(test_in_place(test) && !test_in_place(test_out_of_line));
}
