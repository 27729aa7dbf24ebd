//! What is emitted, as one number: for those who move code about and mean to change nothing. And, one by one, its accesses to the app's memory ([`accesses`]).
//!
//! Random traces with random calls are translated under many lists of switches, and all that comes out is hashed. Nothing in
//! there depends on where this program lies: app code, routines and doors are at fixed addresses. So a build before a change
//! and one after it say the same, or the change has changed what is emitted.
//!
//! ```sh
//! SUPERPIN_TRACES=20000 cargo test --release -p translator --test emission -- --nocapture
//! ```

mod accesses;
mod hash;
mod memory;
mod tool;

use bubble::map::{CACHE_OWN, CACHE_SHARED};
use bubble::switches::{Off, Optimisation};
use isa::Kind;
use isa::random::{Catalogue, Generator, Layout, PLANE, Rng};
use machine::{AppPc, CachePc, Gpr, flags};
use translator::abi::{Counters, Doors, ExitKind, Level, SpaceId, TraceId};
use translator::emit::{
    Check, Lookup, Otherwise, QuickCondition, Rules, ScratchBuffers, Shape, Site, ThroughPointer, constant_pointer,
    emptied, ibl_stub, invalid, translate,
};
use translator::liveness::FlagLookahead;
use translator::routines::{RoutineFacts, merge_counters};
use translator::trace::{Border, Limits, select};

use hash::Hash;
use memory::{
    CODE, CODE_LEN, CONSTANTS, CONTROL, DATA, DATA_LEN, FAR_DOOR, HOLE, Memory, NEAR_DOOR, Routines, code_at, load,
};
use tool::Tool;

/// Lists of switches: none, each, all, and random ones.
const LISTS: usize = 40;
/// Traces of a normal run.
const FEW: u64 = 1000;
/// Programs after which counters and what is known of routines begin anew.
const TOGETHER: u64 = 2;

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
        first_counter: rng.below(1 << 16) as u32,
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
    let each_repetition = rng.once_in(4);
    let limits = Limits {
        blocks: 1 + rng.below(5) as usize,
        instructions: 1 + rng.below(64) as usize,
        single: once,
        stop_after_write: rng.once_in(8),
        each_repetition,
    };
    let mut trace = select(pc, code_at(pc), limits, |_| Border::None, emptied(&mut list.spare.instructions))
        .expect("code of a program")
        .trace;
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
        each_repetition,
        counters: &list.counters,
        doors,
        known: &list.known,
    };
    let loops = !once && check.is_none() && rng.once_in(2);
    let at = rng.below(trace.instructions.len() as u64) as usize;
    let shape = Shape {
        loops,
        once,
        part: once,
        self_checked,
        rewritten: (!once && rng.once_in(8)).then(|| &code_at(pc)[..len]),
        check: check.as_ref().map(|check| (at, check)),
        stop: None,
        lookup,
        through_pointer,
    };
    match translate(&trace, site, rules, shape, live_at, &mut list.spare) {
        Ok(made) => {
            if !list.off.leaves(Optimisation::Rip) {
                assert_eq!(accesses::of_first_thread(&made.code, site.pc.0), None, "under {:?}", list.off);
            }
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
        hash.translation(&invalid(pc, site.space, TraceId(rng.below(1 << 20) as u32), site, list.off));
    }
    len as u64
}

/// Where the app's memory is.
fn layout() -> Layout {
    Layout {
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
    }
}

/// All doors are there.
fn doors(door: u64) -> Doors {
    Doors { leave_by_stub: door, stub_miss: door, aside: door, partly: door, clean_call: door, clean_words: door }
}

/// Translates so many traces under each list.
fn emission(traces: u64, routines: &Routines) -> Hash {
    let catalogue = Catalogue::all();
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
        let doors = doors(door);
        let program = Generator::new(&catalogue, layout(), seed).program(30);
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
const EXITS: [ExitKind; 11] = [
    ExitKind::Direct,
    ExitKind::ConstantPointer,
    ExitKind::Syscall,
    ExitKind::Call,
    ExitKind::Interrupted,
    ExitKind::PopFlags,
    ExitKind::Drain,
    ExitKind::Words,
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
