//! That optimisations happen: by what is counted and what code is made, with them and without.

use bubble::map;
use bubble::shared::EngineStats;
use bubble::switches::{Off, Optimisation};
use engine::Settings;
use machine::Gpr;
use translator::trace::{Arg, Buffered, Trace};

use crate::{
    CODE_KEPT, Run, SETTINGS, collatz, count_blocks, count_called, count_steps, indirect, insert, run, run_memory,
};

std::arch::global_asm!(
    // Before each round's first instruction flags are live, before the second they aren't.
    ".globl superpin_test_flags",
    "superpin_test_flags:",
    "mov ecx, edi",
    "xor eax, eax",
    "2: adc rax, 1",
    "add rax, 3",
    "dec ecx",
    "jnz 2b",
    "ret",
    // Flags aren't live before a round.
    ".globl superpin_test_rounds",
    "superpin_test_rounds:",
    "mov ecx, edi",
    "xor eax, eax",
    "2: add rax, 3",
    "lea rax, [rax + 1]",
    "dec ecx",
    "jnz 2b",
    "ret",
    // Calls each of many functions through a register.
    ".globl superpin_test_targets",
    "superpin_test_targets:",
    "mov ecx, {targets}",
    "xor eax, eax",
    "lea rdx, [rip + 3f]",
    "2: call rdx",
    "add rdx, 16",
    "dec ecx",
    "jnz 2b",
    "ret",
    ".balign 16",
    "3:",
    ".rept {targets}",
    "inc rax",
    "ret",
    ".balign 16",
    ".endr",
    targets = const TARGETS,
);

const TARGETS: u64 = 128;

unsafe extern "C" {
    safe fn superpin_test_flags(n: u64) -> u64;
    safe fn superpin_test_rounds(n: u64) -> u64;
    safe fn superpin_test_targets(n: u64) -> u64;
}

/// In each round.
const INSTRUCTIONS: u8 = 4;

pub(crate) fn without(all: &[Optimisation]) -> Settings {
    Settings { off: all.iter().fold(Off::default(), |off, &o| off.and(o)), ..SETTINGS }
}

fn entries(stats: &EngineStats) -> u64 {
    stats.entries.iter().sum()
}

extern "C" fn flags(n: u64) -> u64 {
    superpin_test_flags(n)
}

pub(crate) extern "C" fn rounds(n: u64) -> u64 {
    superpin_test_rounds(n)
}

extern "C" fn targets(n: u64) -> u64 {
    superpin_test_targets(n)
}

/// Bytes of code for a function with these settings. It counts the same as with others.
fn bytes(settings: Settings, function: extern "C" fn(u64) -> u64, calls: fn(&mut Trace)) -> u64 {
    let (run, usual) = (run(settings, function, 100, calls), run(SETTINGS, function, 100, calls));
    assert_eq!((run.result, run.local[0]), (usual.result, usual.local[0]), "{settings:?}");
    run.stats.cache_bytes
}

#[test]
fn code_that_runs_again_and_again_is_linked() {
    let run = |linking| run(Settings { linking, ..SETTINGS }, rounds, 10_000, |_| {}).stats.entries[0];
    let (linked, unlinked) = (run(true), run(false));
    assert!(linked < 20 && unlinked >= 10_000, "{linked} entries, {unlinked} without links");
}

#[test]
fn counters_are_added_to_where_flags_are_dead() {
    let base = [Optimisation::CounterRegister];
    let placed = bytes(without(&base), flags, count_blocks);
    let at_start = bytes(without(&[Optimisation::CounterRegister, Optimisation::Anywhere]), flags, count_blocks);
    assert!(placed < at_start, "{placed} bytes, {at_start} without");
}

#[test]
fn equal_steps_become_one() {
    let register = [Optimisation::CounterRegister];
    let merged = bytes(without(&register), rounds, count_steps);
    assert_eq!(merged, bytes(without(&register), rounds, count_blocks));
    let each = bytes(without(&[Optimisation::CounterRegister, Optimisation::Merge]), rounds, count_steps);
    assert!(merged < each, "{merged} bytes, {each} without");
}

/// How often these bytes are in a run's code.
fn occurrences(run: &Run, bytes: &[u8]) -> usize {
    run.code.windows(bytes.len()).filter(|window| *window == bytes).count()
}

#[test]
fn the_first_counter_is_in_a_register() {
    let lea_r11 = [0x4d, 0x8d, 0x5b, INSTRUCTIONS];
    let found = |off: &[Optimisation]| occurrences(&run(without(off), rounds, 100, count_blocks), &lea_r11);
    assert!(found(&[]) > 0);
    assert_eq!(found(&[Optimisation::CounterRegister]), 0);
}

/// Where `add qword [rip + x], n` adds to, if `n` is small.
fn added_to(run: &Run) -> Vec<u64> {
    let code = run.code.windows(8).enumerate().filter(|(_, window)| window[..3] == [0x48, 0x83, 0x05]);
    let mut all: Vec<u64> = code
        .map(|(at, window)| {
            let distance = i32::from_le_bytes(window[3..7].try_into().expect("four bytes"));
            (map::CACHE_OWN.start + at as u64 + 8).wrapping_add_signed(distance.into())
        })
        .collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn counters_are_spread_over_shards() {
    let run = |off: &[Optimisation]| added_to(&run(without(off), collatz, 27, count_blocks));
    let shards = run(&[Optimisation::CounterRegister]);
    assert!(shards.len() > 1 && shards.iter().all(|&at| map::THREADS.contains(at)), "{shards:x?}");
    assert_eq!(run(&[Optimisation::CounterRegister, Optimisation::Shards]), [map::LOCAL.start]);
}

fn call_each(trace: &mut Trace) {
    for n in 0..trace.instructions.len() {
        insert(trace, translator::trace::Point::Before(n), Arg::Const(1));
        trace.calls.last_mut().expect("just inserted").routine = count_called as *const () as usize;
    }
}

#[test]
fn routines_are_called_without_the_runtime() {
    let called = |off: &[Optimisation]| entries(&run(without(off), rounds, 1000, call_each).stats);
    let (direct, by_runtime) = (called(&[]), called(&[Optimisation::Call]));
    let each = 1000 * u64::from(INSTRUCTIONS);
    assert!(direct < 20 && by_runtime >= each, "{direct} entries, {by_runtime} without");
}

fn words(trace: &mut Trace) {
    let word = |index| Buffered { index, words: vec![Arg::Register(Gpr::Rax)] };
    trace.buffered.extend((0..trace.instructions.len()).map(word));
}

#[test]
fn the_position_is_held_and_kept() {
    let bytes = |off: &[Optimisation]| bytes(without(off), rounds, words);
    let (kept, held) = (bytes(&[]), bytes(&[Optimisation::Keep]));
    let neither = bytes(&[Optimisation::Keep, Optimisation::Hold]);
    assert!(kept < held && held < neither, "{kept}, {held} and {neither} bytes");
}

#[test]
fn the_buffer_is_emptied_before_it_is_full() {
    const ALL: usize = map::BUFFER.size as usize / size_of::<u64>();
    let most = |off: &[Optimisation]| {
        let run = run(without(off), rounds, ALL as u64, words);
        assert!(run.drained.iter().sum::<usize>() > 3 * ALL);
        run.drained.into_iter().max().expect("it was handed over")
    };
    let (early, full) = (most(&[]), most(&[Optimisation::Drain]));
    assert!(early <= ALL / 8 && full > ALL - 64, "{early} and {full} words of {ALL}");
}

#[test]
fn the_cache_stays_within_its_bound() {
    const BOUND: u64 = 16 << 10;
    let run = run(Settings { cache_bytes: BOUND, ..SETTINGS }, indirect, 300, call_each);
    assert!(run.stats.cache_bytes > 2 * BOUND, "only {} bytes were made", run.stats.cache_bytes);
    assert!(run.code[..BOUND as usize].iter().any(|&byte| byte != 0));
    assert!(run.code[BOUND as usize..CODE_KEPT].iter().all(|&byte| byte == 0));
}

/// What processes did that have run one after the other with the same run memory, as slices do.
fn in_slices(off: &[Optimisation]) -> [EngineStats; 3] {
    let fd = run_memory();
    // SAFETY: getpid has no preconditions.
    let named = Some((unsafe { libc::getpid() }, fd, map::file::TABLES_AT));
    let settings = Settings { sharing: true, run_memory: named, ..without(off) };
    let stats = [(); 3].map(|()| {
        let run = run(settings, targets, 0, count_blocks);
        assert_eq!(run.result, TARGETS);
        run.stats
    });
    // SAFETY: it was opened above, and nothing is mapped from it that is used again.
    unsafe { libc::close(fd) };
    stats
}

#[test]
fn what_one_slice_translates_no_other_one_does() {
    let [first, second, _] = in_slices(&[Optimisation::TargetMap]);
    assert!(first.traces > TARGETS && second.traces < first.traces / 10, "{first:?}\n{second:?}");
}

#[test]
fn what_one_slice_looks_up_no_other_one_does() {
    let misses = |stats: [EngineStats; 3]| stats.map(|stats| stats.entries[1]);
    let inherited = misses(in_slices(&[Optimisation::TargetMap]));
    let own = misses(in_slices(&[Optimisation::TargetMap, Optimisation::Inherit]));
    assert!(own.into_iter().all(|misses| misses >= TARGETS), "{own:?}");
    assert!(inherited[2] < TARGETS / 10, "{inherited:?}");
}
