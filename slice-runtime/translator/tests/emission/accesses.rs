//! Named rule *one access*: what an instruction of the app's loads or stores, or changes in one, is one access in translated code, of the same size and in the same order. Threads
//! that execute at the same time see of each other what the processor allows, and nothing else.

use bubble::map::{BUBBLE, WINDOW_0};
use bubble::switches::Off;
use isa::random::{Catalogue, Generator};
use isa::{Instruction, Kind, MemoryOperand, Reader, Segment};
use machine::{AppPc, CachePc, flags};
use translator::abi::{Counters, SpaceId};
use translator::emit::{Lookup, Rules, ScratchBuffers, Shape, Site, translate};
use translator::routines::RoutineFacts;
use translator::trace::{Border, Limits, Trace, select};

use super::memory::{Memory, code_at, load};
use super::{List, doors, layout};

/// Instructions that a run looks at, under each list of switches.
const INSTRUCTIONS: usize = 1000;

/// An access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Access {
    size: u32,
    reads: bool,
    writes: bool,
    /// In one, for all who look.
    is_locked: bool,
}

/// Those that an instruction makes to memory of the app's, in translated code or in its own.
fn accesses(instruction: &Instruction, is_translated: bool) -> Vec<Access> {
    let is_apps = |operand: &&MemoryOperand| !is_translated || !is_ours(operand);
    let operands = instruction.memory_operands();
    let own = operands.iter().filter(is_apps).map(|operand| Access {
        size: operand.size,
        reads: operand.read,
        writes: operand.write,
        is_locked: is_locked(instruction),
    });
    own.collect()
}

/// Whether translated code addresses what is superpin's: by its address, or relative to a thread's window.
fn is_ours(operand: &MemoryOperand) -> bool {
    match (operand.segment, operand.base, operand.index) {
        (Some(Segment::Gs), ..) => true,
        (None, None, None) => BUBBLE.contains(operand.displacement as u64),
        _ => false,
    }
}

fn is_locked(instruction: &Instruction) -> bool {
    let has_prefix = instruction.bytes().iter().take_while(|byte| PREFIXES.contains(byte)).any(|byte| *byte == 0xf0);
    has_prefix || instruction.mnemonic() == "xchg"
}

/// All that come before an instruction's opcode but REX.
const PREFIXES: [u8; 11] = [0xf0, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65, 0x66, 0x67];

/// The instructions from there on, up to the first that goes elsewhere.
fn plain(pc: AppPc) -> Option<Trace> {
    let limits = |instructions| Limits {
        blocks: 1,
        instructions,
        single: false,
        stop_after_write: false,
        each_repetition: false,
    };
    let trace = |instructions| select(pc, code_at(pc), limits(instructions), |_| Border::None, Vec::new()).ok();
    // What it pops is looked at before: nobody else writes to a thread's stack there.
    let is_plain = |instruction: &&Instruction| instruction.kind() == Kind::Plain && !instruction.pops_flags();
    let count = trace(16)?.trace.instructions.iter().take_while(is_plain).count();
    trace(count.max(1)).map(|selected| selected.trace).filter(|trace| trace.instructions.iter().all(|i| is_plain(&i)))
}

/// What is emitted for a trace, instruction by instruction.
fn emitted(trace: &Trace, off: Off) -> Vec<Instruction> {
    let cache = bubble::map::CACHE_OWN;
    let site = Site {
        space: SpaceId::Own,
        offset: 0,
        pc: CachePc(cache.start),
        stubs_end: CachePc(cache.end()),
        first_exit: 0,
        arena: 0,
        first_counter: 0,
    };
    let (counters, known) = (Counters::default(), RoutineFacts::default());
    let rules = Rules {
        off,
        exact_faults: false,
        replays: false,
        each_repetition: false,
        counters: &counters,
        doors: doors(super::NEAR_DOOR),
        known: &known,
    };
    let shape = Shape {
        loops: false,
        once: false,
        part: false,
        self_checked: None,
        rewritten: None,
        check: None,
        stop: None,
        lookup: Lookup::IblStubs,
        through_pointer: None,
    };
    let mut spare = ScratchBuffers::default();
    let made =
        translate(trace, site, rules, shape, &mut |_| flags::ARITHMETIC, &mut spare).expect("it has a translation");
    let mut reader = Reader::new(&made.code, AppPc(cache.start));
    std::iter::from_fn(|| reader.read().ok()).collect()
}

/// What names a place in the first thread's window by its address, though other threads execute it too: an instruction, or a constant.
pub fn of_first_thread(code: &[u8], at: u64) -> Option<String> {
    let is_there = |address: u64| (WINDOW_0.start..WINDOW_0.end()).contains(&address);
    let names = |operand: &MemoryOperand| operand.base.is_none() && is_there(operand.displacement as u64);
    // mov r64, imm64
    let holds = |bytes: &[u8]| match *bytes {
        [0x48 | 0x49, 0xb8..=0xbf, ref value @ ..] => {
            value.try_into().is_ok_and(|value| is_there(u64::from_le_bytes(value)))
        }
        _ => false,
    };
    let mut reader = Reader::new(code, AppPc(at));
    let mut all = std::iter::from_fn(|| reader.read().ok());
    let found = all.find(|i| holds(i.bytes()) || i.memory_operands().iter().any(names));
    found.map(|instruction| format!("{instruction:?}"))
}

#[test]
fn one_access_stays_one_access() {
    let (_memory, _) = Memory::new();
    let (catalogue, lists) = (Catalogue::all(), List::all());
    let (mut looked_at, mut with_access, mut locked) = (0, 0, 0);
    for seed in 0.. {
        if looked_at >= INSTRUCTIONS {
            break;
        }
        let program = Generator::new(&catalogue, layout(), seed).program(30);
        load(&program);
        let mut pc = super::CODE;
        while pc < super::CODE + program.end as u64 {
            let Some(trace) = plain(AppPc(pc)) else {
                pc += Instruction::decode(code_at(AppPc(pc)), AppPc(pc)).map_or(1, |i| i.len() as u64);
                continue;
            };
            let wanted: Vec<_> = trace.instructions.iter().flat_map(|i| accesses(i, false)).collect();
            for list in &lists {
                let code = emitted(&trace, list.off);
                let got: Vec<_> = code.iter().flat_map(|i| accesses(i, true)).collect();
                let text = || {
                    let lines = |all: &[Instruction]| all.iter().map(|i| format!("{i:?}\n")).collect::<String>();
                    format!("{}became\n{}under {:?}", lines(&trace.instructions), lines(&code), list.off)
                };
                assert_eq!(got, wanted, "{}", text());
            }
            looked_at += trace.instructions.len();
            with_access += wanted.len();
            locked += wanted.iter().filter(|access| access.is_locked).count();
            pc = trace.instructions.last().expect("a trace has an instruction").next_pc().0;
        }
    }
    println!("{with_access} accesses, {locked} of them locked");
    assert!(with_access > INSTRUCTIONS / 10 && locked > 5);
}
