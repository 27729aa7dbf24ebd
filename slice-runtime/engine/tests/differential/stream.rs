//! What the buffer gets, against what calls get.

use std::sync::Mutex;

use bubble::map;
use machine::Gpr;
use translator::abi::ThreadState;
use translator::trace::{AnalysisCall, Arg, Buffered, Point, Trace};

use super::translated;

/// What calls got in the last run.
pub static LOG: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// Words of a call at most.
const WORDS: usize = 5;

/// Leaves room for so many words; returns how many are in front of them.
pub fn fill_but(room: u64) -> usize {
    let start = engine::own(map::BUFFER.start);
    let pointer = start + map::BUFFER.size - 8 * room;
    // SAFETY: the thread state is mapped, and translated code doesn't run.
    unsafe { (*(engine::own(map::THREADS.start) as *mut ThreadState)).buffer = pointer };
    ((pointer - start) / 8) as usize
}

/// Values of all kinds, for instructions that the code alone chooses.
fn values(trace: &Trace) -> Vec<(usize, Vec<Arg>)> {
    let mut all = Vec::new();
    for (n, instruction) in trace.instructions.iter().enumerate() {
        let choice = instruction.pc().0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
        let operands = instruction.memory_operands();
        for operand in 0..operands.len() {
            if !operands[operand].inexact {
                all.push((n, vec![Arg::MemoryAddress(operand)]));
            }
        }
        let register = Arg::Register(Gpr::ALL[choice as usize % 16]);
        if choice % 5 == 0 {
            all.push((n, vec![register, Arg::InstructionPointer, Arg::Const(1 << 40), Arg::Const(u64::MAX)]));
        }
    }
    all
}

/// Writes them into the buffer.
pub fn insert_buffered(trace: &mut Trace) {
    let all = values(trace).into_iter();
    trace.buffered.extend(all.map(|(index, words)| Buffered { index, words }));
}

/// The same, and counts blocks.
pub fn insert_buffered_and_counted(trace: &mut Trace) {
    translated::insert_block_counters(trace);
    insert_buffered(trace);
}

/// The same, and before some instructions calls beside that.
pub fn insert_buffered_beside_calls(trace: &mut Trace) {
    insert_buffered(trace);
    translated::insert_some_counters(trace);
}

/// Gives them to a call.
pub fn insert_logged_and_counted(trace: &mut Trace) {
    translated::insert_block_counters(trace);
    insert_logged(trace);
}

/// All registers at some instructions, beside whatever else can be had there: no register is left that nobody wants.
fn all_registers(trace: &Trace) -> Vec<(usize, Vec<Arg>)> {
    let mut all = Vec::new();
    for (n, instruction) in trace.instructions.iter().enumerate() {
        if instruction.pc().0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56 & 3 == 0 {
            continue;
        }
        all.extend(Gpr::ALL.chunks(4).map(|some| (n, some.iter().map(|&r| Arg::Register(r)).collect())));
        let operands = instruction.memory_operands();
        let exact = (0..operands.len()).filter(|&operand| !operands[operand].inexact);
        all.push((n, exact.map(Arg::MemoryAddress).chain([Arg::Const(1 << 40)]).collect()));
    }
    all
}

/// Writes them into the buffer.
pub fn insert_registers(trace: &mut Trace) {
    let all = all_registers(trace).into_iter();
    trace.buffered.extend(all.map(|(index, words)| Buffered { index, words }));
}

/// Gives them to a call.
pub fn insert_registers_logged(trace: &mut Trace) {
    let all = all_registers(trace);
    log(trace, all);
}

/// What instruments a program.
pub type Instrument = fn(&mut Trace);

/// An instrument, with one that comes to the same in another way.
#[derive(Clone, Copy)]
pub struct Pair {
    /// What is tested.
    pub instrument: Instrument,
    /// What it is compared with: calls that are given the same words, or count the same.
    pub reference: Instrument,
    /// What a program is instrumented with before all others: it decides what r11 is for, and how counters are kept.
    pub first: Instrument,
}

/// All that there are.
pub const PAIRS: [Pair; 5] = [
    Pair { instrument: insert_buffered, reference: insert_logged, first: insert_words },
    Pair { instrument: insert_buffered_and_counted, reference: insert_logged_and_counted, first: insert_words },
    Pair { instrument: insert_buffered_beside_calls, reference: insert_logged, first: insert_words },
    Pair { instrument: insert_registers, reference: insert_registers_logged, first: insert_words },
    Pair {
        instrument: translated::insert_steps,
        reference: translated::insert_steps_called,
        first: translated::insert_steps,
    },
];

/// Writes a word for each instruction: the first trace of a run decides what r11 is for, and this one shows that words are written.
pub fn insert_words(trace: &mut Trace) {
    trace.buffered.extend((0..trace.instructions.len()).map(|index| Buffered { index, words: vec![Arg::Const(1)] }));
}

/// The same, beside calls of all kinds.
pub fn insert_words_beside_calls(trace: &mut Trace) {
    insert_words(trace);
    translated::insert_calls(trace);
}

/// Gives them to a call.
pub fn insert_logged(trace: &mut Trace) {
    let all = values(trace);
    log(trace, all);
}

fn log(trace: &mut Trace, all: Vec<(usize, Vec<Arg>)>) {
    for (index, mut args) in all {
        args.insert(0, Arg::Const(args.len() as u64));
        let (point, routine) = (Point::Before(index), note as *const () as usize);
        trace.calls.push(AnalysisCall::new(point, routine, map::LOCAL.start, args));
    }
}

extern "C" fn note(_: u64, len: u64, a: u64, b: u64, c: u64, d: u64) {
    LOG.lock().expect("no test panics here").extend(&[a, b, c, d][..len as usize]);
}

/// What is wrong with the words of the buffer, if calls got `log`. The calls of an instruction that faulted have been made.
pub fn difference(stream: &[u64], log: &[u64], faulted: bool) -> Option<String> {
    let at_most = stream.len() + if faulted { 4 * WORDS } else { 0 };
    if log.starts_with(stream) && log.len() <= at_most {
        return None;
    }
    let same = stream.iter().zip(log).take_while(|(a, b)| a == b).count();
    let some =
        |words: &[u64]| format!("{} words, {:x?}", words.len(), words[same..].iter().take(6).collect::<Vec<_>>());
    Some(format!("from word {same} on the buffer has {}, calls got {}", some(stream), some(log)))
}
