//! The whole state, as routines and the buffer get it, against that of single steps: flags, segments, vectors, masks and x87 registers at each instruction.

use std::sync::Mutex;

use bubble::map;
use bubble::switches::{Off, Optimisation};
use engine::Settings;
use isa::random::{Program, Rng};
use isa::{Instruction, OperandKind, Property, Register, Segment, SegmentRegister};
use machine::{AppPc, Gpr, Here, Memory, flags};
use translator::abi;
use translator::trace::{AnalysisCall, Arg, Buffered, Form, Point, Trace};

use super::arena::{Arena, Where};
use super::case::Case;
use super::learnt;
use super::native::{self, MOST_STEPS};
use super::state::State;
use super::translated::{Interruptions, Translated};
use super::watchdog::{CURRENT, watch};
use super::{Outcome, SETTINGS, alone, catalogue, has_passed_alone, seeds};

/// What a routine was told of one instruction.
pub type Told = Vec<u64>;

/// What calls were told in the last run: by the state, one by one, by a list.
static TOLD: Mutex<[Vec<Told>; 3]> = Mutex::new([const { Vec::new() }; 3]);

/// Which memory gathers were about to load in the last run.
static GATHERED: Mutex<Vec<Gathered>> = Mutex::new(Vec::new());

/// What a gather was about to load.
struct Gathered {
    /// Number of the instruction among those that calls were told of.
    at: usize,
    /// The vector register that it loads.
    into: usize,
    /// Bytes of an element.
    size: usize,
    /// The elements' values that lay there, in order, without those that the mask leaves out. `None` where nothing can be read.
    values: Vec<Option<u64>>,
}

/// Notes it if the instruction of a state is a gather.
fn note_gather(at: usize, state: &abi::State<'_>) {
    // SAFETY: the program is about to execute what is there, and its code goes on for a while.
    let code = unsafe { &*(state.ip().0 as *const [u8; isa::MAX_LEN]) };
    let Some(gather) = Instruction::decode(code, state.ip()).ok().filter(|i| i.is(Property::Gather)) else { return };
    let written = gather.operands().into_iter().find_map(|operand| match operand.kind {
        OperandKind::Register(Register::Vector(n)) if operand.write => Some(n),
        _ => None,
    });
    let accesses = state.accesses();
    let value = |access: &abi::Access| {
        let mut bytes = [0; 8];
        let is_there = Here::new().read(access.address, &mut bytes[..access.size as usize]).is_ok();
        is_there.then(|| u64::from_le_bytes(bytes))
    };
    let size = accesses.first().map_or(0, |access| access.size as usize);
    let into = written.expect("a gather loads something").into();
    GATHERED.lock().unwrap().push(Gathered { at, into, size, values: accesses.iter().map(value).collect() });
}

/// Which vector and mask registers are asked for one by one at an instruction.
fn chosen(pc: AppPc) -> (u8, u8) {
    let choice = pc.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    ((choice % 32) as u8, (choice % 8) as u8)
}

fn some(pc: AppPc) -> [Arg; 12] {
    let (vector, mask) = chosen(pc);
    let words = std::array::from_fn::<_, 8, _>(|word| Arg::Vector { register: vector, word: word as u8 });
    let [a, b, c, d, e, f, g, h] = words;
    let segments = [Arg::SegmentBase(Segment::Fs), Arg::SegmentBase(Segment::Gs)];
    [a, b, c, d, e, f, g, h, Arg::Flags, Arg::Mask(mask), segments[0], segments[1]]
}

/// A word in place of the flags.
const NO_FLAGS: u64 = u64::MAX;

/// The words for the buffer: the runtime is asked for the flags, and for all words of their instruction then; half of the instructions have only words that translated code finds itself.
fn buffered(pc: AppPc) -> [Arg; 12] {
    let asks = pc.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40 & 1 == 0;
    some(pc).map(|arg| if arg == Arg::Flags && !asks { Arg::Const(NO_FLAGS) } else { arg })
}

/// The same of a state.
fn some_of(pc: AppPc, vector: &dyn Fn(usize) -> [u8; 64], rest: [u64; 3], mask: &dyn Fn(usize) -> u64) -> Told {
    let (register, number) = chosen(pc);
    let words = vector(register.into()).as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect::<Vec<_>>();
    let [rflags, fs, gs] = rest;
    [&words[..], &[rflags & flags::VISIBLE, mask(number.into()), fs, gs]].concat()
}

extern "C" fn note_state(_: u64, state: &abi::State<'_>) {
    let base = |segment| state.segment_base(segment);
    let rest = [state.flags(), base(SegmentRegister::Fs), base(SegmentRegister::Gs)];
    let mut told = some_of(state.ip(), &|n| state.vector(n), rest, &|n| state.mask(n));
    told.push(state.ip().0);
    told.extend(Gpr::ALL.map(|r| state.gpr(r)));
    told.push(hash(&|n| state.vector(n), &|n| state.mask(n), state.x87(), state.mxcsr()));
    let mut all = TOLD.lock().unwrap();
    all[0].push(told);
    note_gather(all[0].len() - 1, state);
}

/// How many elements of gathers were loaded from where their accesses said. `states`: of each instruction that calls were told of.
fn compare_gathers(name: &str, states: &[State]) -> usize {
    let mut loaded = 0;
    for gather in std::mem::take(&mut *GATHERED.lock().unwrap()) {
        let Some(after) = states.get(gather.at + 1) else { continue };
        let vector = after.xstate.vector(gather.into);
        let element = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(word)
        };
        // Those that the mask leaves out lie between them.
        let mut elements = vector.chunks(gather.size.max(1)).map(element);
        for value in gather.values {
            let value = value.unwrap_or_else(|| panic!("{name}: nothing can be read where a gather did"));
            assert!(elements.any(|element| element == value), "{name}: {value:#x} isn't in {vector:02x?}");
            loaded += 1;
        }
    }
    loaded
}

/// A number that stands for all else.
fn hash(vector: &dyn Fn(usize) -> [u8; 64], mask: &dyn Fn(usize) -> u64, x87: machine::X87, mxcsr: u32) -> u64 {
    let mix = |hash: u64, byte: u64| (hash ^ byte).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    let bytes = (0..32).flat_map(vector).chain(x87.stack.into_iter().flatten()).map(u64::from);
    let words = [x87.control.into(), x87.status.into(), x87.in_use.into(), mxcsr.into()];
    bytes.chain((0..8).map(mask)).chain(words).fold(0, mix)
}

#[allow(clippy::too_many_arguments)] // that is what is tested
extern "C" fn note_words(
    _: u64,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    e: u64,
    f: u64,
    g: u64,
    h: u64,
    i: u64,
    j: u64,
    k: u64,
    l: u64,
) {
    TOLD.lock().unwrap()[1].push(vec![a, b, c, d, e, f, g, h, i & flags::VISIBLE, j, k, l]);
}

/// Whether a step is the first, where it is of a repeated string instruction.
static FIRST: Mutex<Vec<u64>> = Mutex::new(Vec::new());

extern "C" fn note_first(_: u64, first: u64) {
    FIRST.lock().unwrap().push(first);
}

/// Whether the state is one between two steps of an instruction that compares and repeats. Then AMD's processors show the flags of the step before, and Intel's what they were before the instruction.
fn compares_again(arena: &Arena, states: &[State], n: usize) -> bool {
    let is_again = n > 0 && states[n - 1].registers.rip == states[n].registers.rip;
    is_again
        && at(arena, states[n].registers.rip).is_some_and(|i| i.repetition().is_some_and(|how| how.wanted.is_some()))
}

/// The same of all states, as single steps found them.
fn firsts(arena: &Arena, states: &[State]) -> Vec<u64> {
    let is_again = |n: usize| n > 0 && states[n - 1].registers.rip == states[n].registers.rip;
    let repeats = |n: &usize| at(arena, states[*n].registers.rip).is_some_and(|i| i.is_rep());
    (0..states.len()).filter(repeats).map(|n| u64::from(!is_again(n))).collect()
}

extern "C" fn note_list(_: u64, words: *const u64, count: usize) {
    // SAFETY: so many words are there.
    let mut told = unsafe { std::slice::from_raw_parts(words, count) }.to_vec();
    told[8] &= flags::VISIBLE;
    TOLD.lock().unwrap()[2].push(told);
}

/// All four ways.
fn insert(trace: &mut Trace) {
    for n in 0..trace.instructions.len() {
        let args = some(trace.instructions[n].pc()).to_vec();
        trace.buffered.push(Buffered { index: n, words: buffered(trace.instructions[n].pc()).to_vec() });
        let call = |routine: *const (), form, args| {
            let call = AnalysisCall::new(Point::Before(n), routine as usize, map::LOCAL.start, args);
            AnalysisCall { form, ..call }
        };
        trace.calls.push(call(note_state as *const (), Form::State, Vec::new()));
        trace.calls.push(call(note_words as *const (), Form::Words, args.clone()));
        trace.calls.push(call(note_list as *const (), Form::List, args));
        trace.calls.extend(learnt::calls(n));
        if trace.instructions[n].is_rep() {
            let first = vec![Arg::FirstRepetition];
            trace.calls.push(call(note_first as *const (), Form::Words, first));
        }
    }
}

/// What is to be told of a state that a single step found.
fn expected(state: &State) -> Told {
    let (registers, xstate) = (&state.registers, &state.xstate);
    let pc = AppPc(registers.rip);
    let rest = [registers.rflags, registers.fs_base, registers.gs_base];
    let mut told = some_of(pc, &|n| xstate.vector(n), rest, &|n| xstate.mask(n));
    told.push(pc.0);
    told.extend(Gpr::ALL.map(|r| registers.get(r)));
    told.push(hash(&|n| xstate.vector(n), &|n| xstate.mask(n), xstate.x87(), xstate.mxcsr()));
    told
}

/// Whether a program sees that it is run by single steps.
fn sees_steps(program: &Program) -> bool {
    let mut sees = false;
    program.visit(|_, code| {
        let mnemonic = Instruction::decode(code, AppPc(0)).map_or("", |instruction| instruction.mnemonic());
        sees |= mnemonic.starts_with("pushf") || mnemonic.starts_with("popf");
    });
    sees
}

/// The program's instruction at an address.
fn at(arena: &Arena, pc: u64) -> Option<Instruction> {
    let [(start, len), _] = arena.loaded();
    if !(start..start + len - isa::MAX_LEN as u64).contains(&pc) {
        return None;
    }
    // SAFETY: the code is mapped there.
    Instruction::decode(unsafe { &*(pc as *const [u8; isa::MAX_LEN]) }, AppPc(pc)).ok()
}

/// The states before instructions; of a repeated string instruction, each step of which is one, the first.
fn starts(arena: &Arena, steps: Vec<State>) -> Vec<State> {
    let mut all: Vec<State> = Vec::new();
    for state in steps {
        let pc = state.registers.rip;
        let again =
            all.last().is_some_and(|last| last.registers.rip == pc) && at(arena, pc).is_some_and(|i| i.is_rep());
        if !again {
            all.push(state);
        }
    }
    all
}

fn run(name: &str, place: Where, settings: Settings, is_interrupted: bool) {
    alone::must_be();
    watch();
    let arena = Arena::new(place, false);
    let catalogue = catalogue(&arena);
    // Nobody looks ahead for flags if a tool reads them.
    let settings = Settings { off: settings.off.and(Optimisation::FlagLookahead), ..settings };
    let mut translated = Translated::new(settings, insert);
    if is_interrupted {
        translated.interrupt();
    }
    let (mut compared, mut gathered, mut further) = (0, 0, 0);
    for seed in seeds(if is_interrupted { 16 } else { 4 }) {
        CURRENT.store(seed, std::sync::atomic::Ordering::Relaxed);
        let case = Case { arena: &arena, catalogue: &catalogue, seed, exact_faults: settings.exact_faults, pair: None };
        let program = case.program(5 + Rng(seed).below(60) as usize);
        if sees_steps(&program) {
            continue;
        }
        let start = State::random(&mut Rng(!seed), &arena);
        arena.load(&program);
        arena.fill(seed);
        let steps = native::step(&arena, &program, &start);
        if steps.len() == MOST_STEPS {
            // A loop that would take long: each instruction leaves the cache several times.
            continue;
        }
        let states = if settings.each_repetition { steps } else { starts(&arena, steps) };
        let expected: Vec<Told> = states.iter().map(expected).collect();
        for n in 0..if is_interrupted { 6 } else { 1 } {
            arena.load(&program);
            arena.fill(seed);
            TOLD.lock().unwrap().iter_mut().for_each(Vec::clear);
            GATHERED.lock().unwrap().clear();
            FIRST.lock().unwrap().clear();
            learnt::forget();
            let number = Rng(seed + n).bits();
            let (outcome, _) = match n {
                0 => translated.run(&arena, &program, &start),
                1..4 => translated.run_again(&arena, &program, &start, Interruptions::After(300 + number % 60_000)),
                _ => translated.run_again(&arena, &program, &start, Interruptions::Steps(number)),
            };
            let [by_state, by_words, by_list] = std::mem::take(&mut *TOLD.lock().unwrap());
            let differs = (0..by_state.len().min(expected.len())).find(|&n| {
                let unsure = if compares_again(&arena, &states, n) { flags::ARITHMETIC } else { 0 };
                let [told, native] = [&by_state[n], &expected[n]].map(|told| {
                    let mut told = told.clone();
                    told[8] &= !unsure;
                    told
                });
                told != native
            });
            if let Some(at) = differs {
                let instruction = self::at(&arena, states[at].registers.rip);
                panic!(
                    "{name}, SUPERPIN_SEED={seed}, at step {at}, {instruction:?}: told {:x?}, natively {:x?}",
                    by_state[at], expected[at]
                );
            }
            assert_eq!(by_state.len(), expected.len(), "{name}, SUPERPIN_SEED={seed}, {outcome:x?}: instructions");
            let of_state: Vec<&[u64]> = by_state.iter().map(|told| &told[..12]).collect();
            for (told, way) in [(by_words, "one by one"), (by_list, "a list")] {
                let differs = told.iter().zip(&of_state).position(|(told, state)| told[..] != **state);
                assert_eq!((told.len(), differs), (of_state.len(), None), "{name}, SUPERPIN_SEED={seed}: by {way}");
            }
            let mut stream = translated.stream.clone();
            for (some, state) in stream.chunks_mut(12).zip(&of_state) {
                some[8] = if some[8] == NO_FLAGS { state[8] } else { some[8] & flags::VISIBLE };
            }
            let differs = stream.chunks(12).zip(&of_state).position(|(told, state)| told != *state);
            let seen = differs.map(|at| (at, stream.len() / 12, n));
            assert_eq!(seen, None, "{name}, SUPERPIN_SEED={seed}: by the buffer");
            let without_last = if outcome == Outcome::End { 0 } else { 12 };
            assert!(
                stream.len() + without_last >= of_state.len() * 12,
                "{name}, SUPERPIN_SEED={seed}: words are missing"
            );
            let (learnt, expected) = learnt::compared(&by_state);
            assert_eq!(learnt, expected, "{name}, SUPERPIN_SEED={seed}, {n}: in the cache");
            let (first, expected) = (FIRST.lock().unwrap().clone(), firsts(&arena, &states));
            assert_eq!(first, expected, "{name}, SUPERPIN_SEED={seed}, {n}: first steps");
            further += first.iter().filter(|first| **first == 0).count();
            compared += by_state.len();
            gathered += compare_gathers(&format!("{name}, SUPERPIN_SEED={seed}"), &states);
        }
    }
    eprintln!("{name}: {compared} states, {gathered} elements of gathers, {further} further steps");
    assert!(compared > 200, "{compared}");
}

#[test]
fn the_whole_state_is_what_single_steps_find() {
    if has_passed_alone() {
        return;
    }
    run("whole near", Where::Near, SETTINGS, false);
    run("whole far", Where::Far, Settings { max_blocks: 1, exact_faults: false, ..SETTINGS }, false);
    run("whole unoptimised", Where::Near, Settings { off: Off::ALL, ..SETTINGS }, false);
    for off in [Optimisation::CleanCall, Optimisation::VectorWords] {
        let settings = Settings { off: Off::default().and(off), ..SETTINGS };
        run(&format!("whole without {off:?}"), Where::Near, settings, false);
    }
}

/// Each step of a repeated string instruction is one of the processor's.
#[test]
fn each_repetition_is_a_single_step() {
    if has_passed_alone() {
        return;
    }
    let each = Settings { each_repetition: true, ..SETTINGS };
    run("each near", Where::Near, each, false);
    run("each far", Where::Far, Settings { max_blocks: 1, exact_faults: false, ..each }, false);
    run("each unoptimised", Where::Near, Settings { off: Off::ALL, ..each }, false);
    run("each interrupted", Where::Near, Settings { exact_faults: false, ..each }, true);
}

#[test]
fn the_whole_state_is_told_once_whatever_comes_between() {
    if has_passed_alone() {
        return;
    }
    run("whole interrupted", Where::Near, Settings { exact_faults: false, ..SETTINGS }, true);
}
