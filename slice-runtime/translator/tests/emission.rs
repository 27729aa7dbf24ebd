//! What is emitted, as one number: for those who move code about and mean to change nothing.
//!
//! Random traces with random calls are translated under many lists of switches, and all that comes out is hashed. Nothing in
//! there depends on where this program lies: app code, routines and doors are at fixed addresses. So a build before a change
//! and one after it say the same, or the change has changed what is emitted.
//!
//! ```sh
//! SUPERPIN_TRACES=20000 cargo test --release -p translator --test emission -- --nocapture
//! ```

use bubble::map::{CACHE_OWN, CACHE_SHARED, LOCAL};
use bubble::switches::{Off, Optimisation};
use isa::Kind;
use isa::random::{Catalogue, Generator, Layout, PLANE, Program, Rng};
use machine::{AppPc, CachePc, Gpr, PAGE, flags};

use translator::abi::{Counters, Doors, ExitKind, Level, SpaceId, TraceId};
use translator::emit::{
    Check, Lookup, Otherwise, QuickCondition, Rules, ScratchBuffers, Shape, Site, ThroughPointer, Translation,
    constant_pointer, emptied, ibl_stub, invalid, translate,
};
use translator::liveness::FlagLookahead;
use translator::routines::{RoutineFacts, merge_counters};
use translator::trace::{AnalysisCall, Arg, Buffered, Limits, Point, Test, Trace, has_after, may_branch, select};

/// Lists of switches: none, each, all, and random ones.
const LISTS: usize = 40;
/// Traces of a normal run.
const FEW: u64 = 1000;
/// Programs after which counters and what is known of routines begin anew.
const TOGETHER: u64 = 2;

const CODE: u64 = 0x5555_5180_0000;
const CODE_LEN: u64 = 5 * PLANE as u64;
const DATA: u64 = CODE + CODE_LEN;
const DATA_LEN: u64 = 16 * PAGE;
const CONTROL: u64 = DATA + DATA_LEN;
const CONSTANTS: u64 = CONTROL + PAGE;
const HOLE: u64 = CONSTANTS + PAGE;
const ROUTINES: u64 = HOLE + PAGE;
const END: u64 = ROUTINES + PAGE;
/// Doors within reach of both caches, and out of their reach.
const NEAR_DOOR: u64 = 0x5554_e012_3450;
const FAR_DOOR: u64 = 0x7000_0012_3450;

// Routines that are put in place, called by translated code, and called by the runtime. They are copied to where they are
// used: whatever a compiler makes of others doesn't matter here.
std::arch::global_asm!(
    ".section .rodata.superpin_routines, \"a\"",
    "superpin_routine_add: add [rdi], rsi",
    "ret",
    "superpin_routine_one: add qword ptr [rdi + 8], 1",
    "ret",
    "superpin_routine_mix: mov rax, [rdi + 16]",
    "rol rax, 7",
    "lea rcx, [rsi + rdx * 2]",
    "xor rax, rcx",
    "mov [rdi + 16], rax",
    "ret",
    "superpin_routine_choose: test sil, 16",
    "je 2f",
    "add [rdi + 24], rdx",
    "ret",
    "2: cmp rdx, rsi",
    "jbe 3f",
    "add qword ptr [rdi + 32], 3",
    "3: ret",
    "superpin_routine_loop: mov ecx, 3",
    "2: add [rdi + 40], rsi",
    "dec ecx",
    "jne 2b",
    "ret",
    "superpin_routine_vector: movq xmm0, rsi",
    "movq [rdi + 48], xmm0",
    "ret",
    "superpin_routine_test: mov rax, rsi",
    "xor rax, rdx",
    "and eax, 1",
    "ret",
    "superpin_routine_test_loop: mov ecx, 2",
    "2: dec ecx",
    "jne 2b",
    "mov rax, rsi",
    "ret",
    "superpin_routines_end:",
    ".previous",
);

unsafe extern "C" {
    static superpin_routine_add: [u8; 0];
    static superpin_routine_one: [u8; 0];
    static superpin_routine_mix: [u8; 0];
    static superpin_routine_choose: [u8; 0];
    static superpin_routine_loop: [u8; 0];
    static superpin_routine_vector: [u8; 0];
    static superpin_routine_test: [u8; 0];
    static superpin_routine_test_loop: [u8; 0];
    static superpin_routines_end: [u8; 0];
}

/// Addresses of the routines, and of the tests behind them.
struct Routines {
    counters: [usize; 2],
    others: [usize; 4],
    tests: [usize; 2],
}

/// The memory of the app, at fixed addresses.
struct Memory;

impl Memory {
    fn new() -> (Memory, Routines) {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: NOREPLACE touches nothing that exists; the hole is a part of the new mapping.
        let (p, hole) = unsafe {
            let p = libc::mmap(CODE as *mut _, (END - CODE) as usize, access, flags, -1, 0);
            (p as u64, libc::mprotect(HOLE as *mut _, PAGE as usize, libc::PROT_NONE))
        };
        assert_eq!((p, hole), (CODE, 0), "{CODE:#x} is taken: {}", std::io::Error::last_os_error());
        // SAFETY: the symbols' addresses alone are used, and the bytes between the first and the last are this program's.
        let (routines, code) = unsafe {
            let first = &raw const superpin_routine_add as usize;
            let at = |symbol: *const [u8; 0]| ROUTINES as usize + (symbol as usize - first);
            let routines = Routines {
                counters: [at(&raw const superpin_routine_add), at(&raw const superpin_routine_one)],
                others: [
                    at(&raw const superpin_routine_mix),
                    at(&raw const superpin_routine_choose),
                    at(&raw const superpin_routine_loop),
                    at(&raw const superpin_routine_vector),
                ],
                tests: [at(&raw const superpin_routine_test), at(&raw const superpin_routine_test_loop)],
            };
            let len = &raw const superpin_routines_end as usize - first;
            (routines, std::slice::from_raw_parts(first as *const u8, len))
        };
        write(ROUTINES, code);
        (Memory, routines)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`; nothing refers to it any more.
        unsafe { libc::munmap(CODE as *mut _, (END - CODE) as usize) };
    }
}

/// Writes to the mapping.
fn write(at: u64, bytes: &[u8]) {
    assert!((CODE..=END - bytes.len() as u64).contains(&at));
    // SAFETY: inside of the mapping, which this test alone uses.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) };
}

/// The app's code from `pc` on, as far as it may be relied on.
fn code_at(pc: AppPc) -> &'static [u8] {
    if !(CODE..CODE + CODE_LEN).contains(&pc.0) {
        return &[];
    }
    // SAFETY: inside of the mapping, which isn't written while a program is translated.
    unsafe { std::slice::from_raw_parts(pc.0 as *const u8, (CODE + CODE_LEN - pc.0).min(PAGE) as usize) }
}

fn load(program: &Program) {
    // SAFETY: a part of the mapping.
    let emptied = unsafe { libc::madvise(CODE as *mut _, CODE_LEN as usize, libc::MADV_DONTNEED) };
    assert_eq!(emptied, 0, "{}", std::io::Error::last_os_error());
    program.parts().for_each(|(offset, code)| write(CODE + offset as u64, code));
    program.constants.iter().zip(0..).for_each(|(word, n)| write(CONSTANTS + n * 8, &word.to_le_bytes()));
}

/// A list of switches, and what translations under it have in common.
struct List {
    off: Off,
    counters: Counters,
    known: RoutineFacts,
    spare: ScratchBuffers,
}

impl List {
    fn all() -> Vec<List> {
        let mut rng = Rng(1);
        let none = Off::default();
        let each = Optimisation::ALL.into_iter().map(|o| none.and(o));
        let random = std::iter::repeat_with(|| Off(rng.bits() as u32 & Off::ALL.0));
        let offs = [none, Off::ALL].into_iter().chain(each).chain(random).take(LISTS);
        offs.map(|off| List {
            off,
            counters: Counters::default(),
            known: RoutineFacts::default(),
            spare: ScratchBuffers::default(),
        })
        .collect()
    }

    fn begin_anew(&mut self) {
        (self.counters, self.known) = (Counters::default(), RoutineFacts::default());
    }
}

/// What a tool inserts, by chance.
struct Tool<'a> {
    routines: &'a Routines,
    /// Whether there are counters, other calls, and values for the buffer.
    kinds: (bool, bool, bool),
}

impl Tool<'_> {
    fn insert(&self, trace: &mut Trace, rng: &mut Rng) {
        let (counters, calls, words) = self.kinds;
        for n in 0..trace.instructions.len() {
            if counters && rng.once_in(2) {
                let args = if rng.once_in(2) { vec![Arg::BlockInstructions] } else { vec![Arg::Const(rng.below(9))] };
                let routine = self.routines.counters[rng.below(2) as usize];
                trace.calls.push(AnalysisCall::new(self.point(trace, n, rng), routine, LOCAL.start, args));
            }
            if calls && rng.once_in(3) {
                let call = self.call(trace, n, rng);
                trace.calls.push(call);
            }
            if words && rng.once_in(2) {
                let words = (0..=rng.below(3)).map(|_| word(trace, n, rng)).collect();
                trace.buffered.push(Buffered { index: n, words });
            }
        }
        if counters && rng.once_in(2) {
            for block in 0..trace.block_ends.len() {
                let routine = self.routines.counters[0];
                let args = vec![Arg::BlockInstructions];
                trace.calls.push(AnalysisCall::new(Point::Anywhere(block), routine, LOCAL.start, args));
            }
        }
    }

    fn point(&self, trace: &Trace, n: usize, rng: &mut Rng) -> Point {
        let instruction = &trace.instructions[n];
        match rng.below(4) {
            0 if has_after(instruction) => Point::After(n),
            1 if may_branch(instruction) => Point::Taken(n),
            _ => Point::Before(n),
        }
    }

    fn call(&self, trace: &Trace, n: usize, rng: &mut Rng) -> AnalysisCall {
        let point = self.point(trace, n, rng);
        let args = vec![argument(trace, point, rng), argument(trace, point, rng)];
        let call = AnalysisCall::new(point, rng.pick(&self.routines.others), LOCAL.start, args);
        if point != Point::Before(n) {
            return call;
        }
        match rng.below(4) {
            0 => AnalysisCall { predicated: true, ..call },
            1 => AnalysisCall {
                test: Some(Test {
                    routine: rng.pick(&self.routines.tests),
                    args: vec![argument(trace, point, rng), argument(trace, point, rng)],
                }),
                ..call
            },
            _ => call,
        }
    }
}

/// An argument that can be had at the point.
fn argument(trace: &Trace, point: Point, rng: &mut Rng) -> Arg {
    let instruction = &trace.instructions[point.index().expect("a point at an instruction")];
    let operand = instruction.memory_operands().iter().position(|m| !m.inexact);
    let branches = matches!(instruction.kind(), Kind::Branch { .. } | Kind::CountBranch { .. });
    match (rng.below(6), operand) {
        (0, _) => Arg::Const(rng.value()),
        (1, _) => Arg::InstructionPointer,
        (2 | 3, Some(operand)) if !matches!(point, Point::After(_) | Point::Taken(_)) => Arg::MemoryAddress(operand),
        (4, _) if branches && !matches!(point, Point::After(_)) => Arg::BranchTaken,
        (5, _) if matches!(point, Point::Taken(_)) => Arg::BranchTarget,
        _ => Arg::Register(Gpr::ALL[rng.below(16) as usize]),
    }
}

/// A value for the buffer: what a count branch will do isn't known before it.
fn word(trace: &Trace, n: usize, rng: &mut Rng) -> Arg {
    match argument(trace, Point::Before(n), rng) {
        Arg::BranchTaken if !matches!(trace.instructions[n].kind(), Kind::Branch { .. }) => Arg::InstructionPointer,
        word => word,
    }
}

/// A hash of all that was emitted, the same in each process, and what was in it.
#[derive(Default)]
struct Hash {
    hash: u64,
    /// A bit for each kind of exit.
    exits: u32,
    /// A bit for each thing that r11 can be for.
    reserved: u32,
}

impl Hash {
    fn word(&mut self, word: u64) {
        self.hash = (self.hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
    }

    fn translation(&mut self, made: &Translation) {
        [&made.code, &made.stubs, &made.arena].into_iter().for_each(|bytes| self.bytes(bytes));
        for exit in &made.exits {
            self.exits |= 1 << exit.kind as u32;
            [exit.pc.0, exit.kind as u64, exit.site.into(), exit.argument.into()]
                .into_iter()
                .for_each(|w| self.word(w));
        }
        let lengths = [made.map, made.map_len, made.block_calls, made.buffer_marks, made.call_marks];
        lengths.into_iter().for_each(|length| self.word(length.into()));
        self.word(made.self_checks.into());
    }
}

/// Where a translation goes.
fn site(rng: &mut Rng) -> Site {
    let (space, cache) = rng.pick(&[(SpaceId::Own, CACHE_OWN), (SpaceId::Shared, CACHE_SHARED)]);
    let offset = rng.below(1 << 20) as u32 * 16;
    Site {
        space,
        offset,
        pc: CachePc(cache.start + u64::from(offset)),
        stubs_end: CachePc(cache.end() - rng.below(1 << 20) * 8),
        first_exit: rng.below(1 << 16) as u32,
        arena: rng.below(1 << 16) as u32 * 8,
    }
}

fn check(rng: &mut Rng) -> Check {
    let condition = |rng: &mut Rng| match rng.below(3) {
        0 => QuickCondition::Register(rng.pick(&Gpr::ALL), rng.value()),
        1 => QuickCondition::Word(DATA + rng.below(DATA_LEN / 8) * 8, rng.value()),
        _ => QuickCondition::Vector(rng.below(8) as u8, rng.value()),
    };
    Check { conditions: (0..3).map(|_| condition(rng)).collect(), may_change_flags: rng.once_in(2) }
}

/// Translates a trace in a way that the number chooses.
fn emit(list: &mut List, pc: AppPc, instrument: &Tool<'_>, number: u64, doors: Doors, hash: &mut Hash) -> u64 {
    let mut rng = Rng(number);
    let once = rng.once_in(16);
    let limits = Limits {
        blocks: 1 + rng.below(5) as usize,
        instructions: if once { 1 } else { 1 + rng.below(64) as usize },
        stop_after_write: rng.once_in(8),
    };
    let mut trace =
        select(pc, code_at(pc), limits, |_| false, emptied(&mut list.spare.instructions)).expect("code of a program");
    instrument.insert(&mut trace, &mut rng);
    if list.off.leaves(Optimisation::Merge) {
        merge_counters(&mut trace, &list.known);
    }
    let last = trace.instructions.last().expect("a trace has an instruction");
    let len = (last.next_pc().0 - pc.0) as usize;
    let site = site(&mut rng);
    let own = site.space == SpaceId::Own;
    let through_pointer = constant_pointer(last).filter(|_| rng.once_in(2)).map(|_| match (own, last.kind()) {
        (false, Kind::JumpIndirect) => ThroughPointer::ByLinkWord(rng.below(64) as u32),
        _ => ThroughPointer::To(AppPc(CODE + rng.below(PLANE as u64))),
    });
    let through_pointer = through_pointer.filter(|through| own || matches!(through, ThroughPointer::ByLinkWord(_)));
    let check = (own && !once && rng.once_in(8)).then(|| check(&mut rng));
    let exact_faults = rng.once_in(2);
    let ahead = list.off.leaves(Optimisation::FlagLookahead);
    let live_at =
        &mut |at| if ahead { FlagLookahead::new(code_at, exact_faults).live_flags(at) } else { flags::ARITHMETIC };
    let self_checked = (!once && rng.once_in(8)).then(|| &code_at(pc)[..len]);
    let lookup = match rng.below(3) {
        0 => Lookup::IblStubs,
        1 => Lookup::TargetMap { ask_for: None },
        _ => Lookup::TargetMap { ask_for: Some(bubble::map::TARGETS.start + rng.below(1 << 20) * 8) },
    };
    let rules = Rules {
        off: list.off,
        exact_faults,
        replays: rng.once_in(2),
        counters: &list.counters,
        doors,
        known: &list.known,
    };
    let loops = !once && check.is_none() && rng.once_in(2);
    let shape = Shape { loops, once, self_checked, check: check.as_ref(), lookup, through_pointer };
    match translate(&trace, site, rules, shape, live_at, &mut list.spare) {
        Ok(made) => {
            hash.translation(&made);
            hash.reserved |= 1 << list.counters.reserved() as u32;
            list.spare.take_back(made);
        }
        Err(e) => hash.bytes(e.to_string().as_bytes()),
    }
    list.spare.instructions = trace.instructions;
    if number.is_multiple_of(16) {
        let otherwise = match rng.below(3) {
            0 => Otherwise::Next(CachePc(CACHE_OWN.start + rng.below(CACHE_OWN.size))),
            1 => Otherwise::Table(rng.pick(&Level::ALL)),
            _ => Otherwise::Miss,
        };
        let entry = rng.once_in(2).then_some(CachePc(CACHE_OWN.start + rng.below(CACHE_OWN.size)));
        hash.translation(&ibl_stub(pc, entry, otherwise, site, list.off, doors));
        hash.translation(&invalid(pc, site.space, TraceId(rng.below(1 << 20) as u32), site));
    }
    len as u64
}

/// Translates so many traces under each list.
fn emission(traces: u64, routines: &Routines) -> Hash {
    let catalogue = Catalogue::all();
    let layout = Layout {
        code: CODE,
        code_len: CODE_LEN as usize,
        data: DATA,
        data_len: DATA_LEN,
        control: CONTROL,
        constants: CONSTANTS,
        hole: HOLE,
        fs_base: 0x7fff_f7d8_a740,
        gs_base: DATA + 0x1230,
        writable_code: false,
    };
    let mut lists = List::all();
    assert_eq!(lists.len(), LISTS);
    let (mut hash, mut made, mut seed) = (Hash::default(), 0, 0);
    while made < traces {
        let group = seed / TOGETHER;
        if seed.is_multiple_of(TOGETHER) {
            lists.iter_mut().for_each(List::begin_anew);
        }
        // The first kind of call in a group decides what counters and r11 are used for.
        let instrument = Tool { routines, kinds: (group % 4 != 1, group & 1 == 1, group % 4 >= 2) };
        let door = if group.is_multiple_of(3) { FAR_DOOR } else { NEAR_DOOR };
        let doors = Doors { leave_by_stub: door, stub_miss: door };
        let program = Generator::new(&catalogue, layout, seed).program(30);
        load(&program);
        let mut pc = CODE;
        while pc < CODE + program.end as u64 && made < traces {
            let number = Rng(seed ^ pc << 20).bits();
            let lengths = lists.iter_mut().map(|list| emit(list, AppPc(pc), &instrument, number, doors, &mut hash));
            pc += lengths.last().expect("there are lists");
            made += 1;
        }
        seed += 1;
    }
    hash
}

/// What random traces lead to. Programs have no `rdtsc` and the like, and too few that store the environment of the x87 unit.
const EXITS: [ExitKind; 10] = [
    ExitKind::Direct,
    ExitKind::ConstantPointer,
    ExitKind::Syscall,
    ExitKind::Call,
    ExitKind::Interrupted,
    ExitKind::PopFlags,
    ExitKind::Drain,
    ExitKind::End,
    ExitKind::Changed,
    ExitKind::Invalid,
];

/// A normal run looks whether there is chance in it, and whether all is there; with more traces the hash is for those who compare two builds.
#[test]
fn emission_depends_on_nothing_else() {
    let traces = std::env::var("SUPERPIN_TRACES")
        .map_or(FEW, |text| text.parse().unwrap_or_else(|_| panic!("SUPERPIN_TRACES={text} is not a number")));
    let (_memory, routines) = Memory::new();
    let hash = emission(traces, &routines).hash;
    println!("emission of {traces} traces under {LISTS} lists of switches: {hash:016x}");
    let (once, again) = (emission(FEW, &routines), emission(FEW, &routines));
    assert_eq!(once.hash, again.hash, "the same traces gave other translations");
    assert_ne!(once.hash, emission(FEW - 1, &routines).hash, "a trace more made no difference");
    let missing = EXITS.into_iter().find(|&kind| once.exits & 1 << kind as u32 == 0);
    assert_eq!(missing, None, "no trace has such an exit");
    assert_eq!(once.reserved, 0b111, "r11 is to be the app's, a counter and the buffer's position");
}
