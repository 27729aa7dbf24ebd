//! Random programs, run natively and under translation in the same process: every register, flag, vector, x87 register and
//! byte of memory must come out the same, and faults must be the same faults at the same instruction.
//!
//! `SUPERPIN_SEED` starts the sequence of programs (each failure names its own seed: that program comes first then),
//! `SUPERPIN_PROGRAMS` says how many are run for each setting: [`ALL`] if `SUITE=all` is in the environment, else a quarter of them.

mod alone;
mod arena;
mod case;
mod learnt;
mod native;
mod state;
mod stepper;
mod stream;
mod switches;
mod touched;
mod translated;
mod watchdog;
mod whole;

use std::ops::Range;
use std::sync::atomic::Ordering;

use alone::has_passed_alone;
use arena::{Arena, Where};
use bubble::switches::{Off, Optimisation};
use case::Case;
use engine::Settings;
use isa::random::{Catalogue, Form, Generator, Rng};
use state::State;
use translated::{INTERRUPTIONS, Translated};
use watchdog::{CURRENT, watch};

const SETTINGS: Settings = Settings {
    max_blocks: 4,
    max_instructions: 64,
    linking: true,
    sharing: false,
    outlives_run: false,
    cache_bytes: 64 << 20,
    off: Off(0),
    slot: 0,
    exact_faults: true,
    replays: false,
    each_repetition: false,
    xcr0: 0,
    null_selector_clears_base: true,
    comparisons_keep_flags: true,
    run_memory: None,
    watched: engine::Watched::NOTHING,
};

fn variable(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a number")),
        Err(_) => default,
    }
}

/// How a run came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// At the final `syscall`.
    End,
    /// By this signal, at this offset in the code.
    Fault(i32, u64),
}

/// Encodings that this CPU executes: the others raise SIGILL.
fn catalogue(arena: &Arena) -> Catalogue {
    let mut catalogue = Catalogue::all();
    let all = catalogue.len();
    let unused = catalogue.clone();
    catalogue.retain(|form| runs_here(form, &unused, arena));
    assert!(catalogue.len() > 1000, "only {} of {all} encodings run on this CPU", catalogue.len());
    catalogue
}

fn runs_here(form: Form, unused: &Catalogue, arena: &Arena) -> bool {
    (0..4).any(|seed| {
        let Some(program) = Generator::new(unused, arena.layout(), seed).single(form) else { return false };
        let start = State::random(&mut Rng(seed), arena);
        let (outcome, _) = native::run(arena, &program, &start);
        !matches!(outcome, Outcome::Fault(libc::SIGILL, _))
    })
}

fn run_programs(name: &str, place: Where, settings: Settings, instrument: fn(&mut translator::trace::Trace)) {
    run_seeds(name, seeds(1), place, false, settings, instrument, |_| {});
}

fn run_changing(name: &str, place: Where, instrument: fn(&mut translator::trace::Trace)) {
    run_seeds(name, seeds(1), place, true, SETTINGS, instrument, |_| {});
}

/// Each program is run nine times then, and some of them step by step: so there are fewer.
fn run_interrupted(name: &str, place: Where, writable_code: bool, instrument: fn(&mut translator::trace::Trace)) {
    run_interrupted_in(8, name, place, writable_code, instrument);
}

fn run_interrupted_in(
    share: u64,
    name: &str,
    place: Where,
    writable_code: bool,
    instrument: fn(&mut translator::trace::Trace),
) {
    run_seeds(name, seeds(share), place, writable_code, SETTINGS, instrument, Translated::interrupt);
}

/// Programs for each setting.
const ALL: u64 = 400;

/// The seeds of one in `share` of as many programs as are wanted.
fn seeds(share: u64) -> Range<u64> {
    let all = std::env::var("SUITE").is_ok_and(|suite| suite == "all");
    let programs = variable("SUPERPIN_PROGRAMS", if all { ALL } else { ALL / 4 });
    let first = variable("SUPERPIN_SEED", 1);
    first..first + programs.div_ceil(share)
}

/// Returns a number for each program that stands for the code made so far.
fn run_seeds(
    name: &str,
    seeds: Range<u64>,
    place: Where,
    writable_code: bool,
    settings: Settings,
    instrument: fn(&mut translator::trace::Trace),
    prepare: fn(&mut Translated),
) -> Vec<u64> {
    alone::must_be();
    watch();
    let arena = Arena::new(place, writable_code);
    let catalogue = catalogue(&arena);
    let count = seeds.end - seeds.start;
    eprintln!("{name}: {count} programs from SUPERPIN_SEED={}, {} encodings", seeds.start, catalogue.len());
    let mut translated = Translated::new(settings, instrument);
    prepare(&mut translated);
    let pair = stream::PAIRS.into_iter().find(|pair| std::ptr::fn_addr_eq(instrument, pair.instrument));
    if let Some(pair) = pair {
        translated.set_instrument(pair.first);
        let case = Case { arena: &arena, catalogue: &catalogue, seed: 0, exact_faults: true, pair: None };
        case.compare(&case.program(5), &mut translated);
        translated.set_instrument(instrument);
    }
    let (mut ended, mut codes) = (0, Vec::new());
    for seed in seeds {
        CURRENT.store(seed, Ordering::Relaxed);
        let exact_faults = settings.exact_faults;
        let case = Case { arena: &arena, catalogue: &catalogue, seed, exact_faults, pair };
        let length = 5 + Rng(seed ^ 0x5eed).below(60) as usize;
        let (outcome, differences) = case.compare(&case.program(length), &mut translated);
        if !differences.is_empty() {
            case.fail(name, length, &differences, &mut translated);
        }
        ended += u64::from(outcome == Outcome::End);
        codes.push(translated.code());
    }
    CURRENT.store(0, Ordering::Relaxed);
    // Programs that fault at once test little.
    assert!(count < 50 || ended * 3 > count, "only {ended} of {count} programs came to their end");
    codes
}

#[test]
fn code_near_the_cache() {
    if has_passed_alone() {
        return;
    }
    run_programs("near", Where::Near, SETTINGS, |_| {});
}

#[test]
fn code_far_from_the_cache() {
    if has_passed_alone() {
        return;
    }
    run_programs("far", Where::Far, SETTINGS, |_| {});
}

#[test]
fn code_at_low_addresses() {
    if has_passed_alone() {
        return;
    }
    run_programs("low", Where::Low, SETTINGS, |_| {});
}

#[test]
fn one_block_without_links() {
    if has_passed_alone() {
        return;
    }
    let settings = Settings { max_blocks: 1, max_instructions: 3, linking: false, ..SETTINGS };
    run_programs("unlinked", Where::Far, settings, |_| {});
}

#[test]
fn a_tiny_cache() {
    if has_passed_alone() {
        return;
    }
    run_programs("tiny", Where::Near, Settings { cache_bytes: 16 << 10, ..SETTINGS }, |_| {});
}

#[test]
fn with_analysis_calls() {
    if has_passed_alone() {
        return;
    }
    run_programs("calls", Where::Low, SETTINGS, translated::insert_calls);
}

/// What a test decides is the same whether it is put in place or called.
#[test]
fn with_tested_calls() {
    if has_passed_alone() {
        return;
    }
    run_programs("tested", Where::Near, SETTINGS, translated::insert_tested);
    let settings = Settings { exact_faults: false, max_blocks: 1, ..SETTINGS };
    run_programs("tested", Where::Far, settings, translated::insert_tested);
}

/// What is behind an instruction, or where a branch goes, is reached once for each that takes effect.
#[test]
fn with_calls_behind() {
    if has_passed_alone() {
        return;
    }
    run_programs("behind", Where::Near, SETTINGS, translated::insert_around);
    let settings = Settings { exact_faults: false, max_blocks: 1, linking: false, ..SETTINGS };
    run_programs("behind", Where::Far, settings, translated::insert_around);
    run_changing("behind", Where::Low, translated::insert_around);
    run_programs("counters behind", Where::Far, SETTINGS, translated::insert_counters_behind);
}

/// Flags that are overwritten later are free for counters and for the comparisons of indirect branches.
#[test]
fn without_flags_at_faults() {
    if has_passed_alone() {
        return;
    }
    let settings = Settings { exact_faults: false, ..SETTINGS };
    run_programs("flags near", Where::Near, settings, translated::insert_counters);
    run_programs("flags far", Where::Far, Settings { max_blocks: 1, ..settings }, translated::insert_block_counters);
}

/// Repetitions are counted by block as they are by instruction, whatever comes between.
#[test]
fn with_each_repetition() {
    if has_passed_alone() {
        return;
    }
    let each = Settings { each_repetition: true, ..SETTINGS };
    run_programs("each repetition", Where::Near, each, |_| {});
    run_programs("each repetition", Where::Far, each, translated::insert_counters);
    run_programs("each repetition", Where::Low, each, translated::insert_calls);
    run_programs("each repetition", Where::Low, each, stream::insert_buffered_and_counted);
    for instrument in [translated::insert_counters, translated::insert_calls, stream::insert_buffered_and_counted] {
        run_seeds("each repetition", seeds(20), Where::Near, false, each, instrument, Translated::interrupt);
        run_seeds("each repetition", seeds(20), Where::Near, true, each, instrument, Translated::interrupt);
    }
}

#[test]
fn with_counters() {
    if has_passed_alone() {
        return;
    }
    run_programs("counters", Where::Near, SETTINGS, translated::insert_counters);
}

/// Each instruction is counted as often as it is executed, whatever becomes of its block.
#[test]
fn with_blocks_counted() {
    if has_passed_alone() {
        return;
    }
    run_programs("blocks", Where::Near, SETTINGS, translated::insert_counted);
    let settings = Settings { exact_faults: false, ..SETTINGS };
    run_programs("blocks without flags", Where::Far, settings, translated::insert_counted);
    run_programs("blocks", Where::Near, settings, translated::insert_only_counted);
    run_programs("blocks", Where::Near, Settings { off: Off::ALL, ..SETTINGS }, translated::insert_counted);
    run_programs(
        "blocks tiny",
        Where::Near,
        Settings { cache_bytes: 16 << 10, ..SETTINGS },
        translated::insert_counted,
    );
    run_changing("blocks changing", Where::Low, translated::insert_counted);
    run_interrupted_in(20, "blocks interrupted", Where::Near, false, translated::insert_counted);
    run_interrupted_in(20, "blocks changing", Where::Near, true, translated::insert_counted);
}

/// The state that an interruption finds must be the app's, wherever it comes: the program goes on from it.
#[test]
fn with_interruptions() {
    if has_passed_alone() {
        return;
    }
    let before = INTERRUPTIONS.load(Ordering::Relaxed);
    run_interrupted("interruptions", Where::Far, false, translated::insert_counters);
    let count = INTERRUPTIONS.load(Ordering::Relaxed) - before;
    eprintln!("{count} interruptions");
    assert!(count > 0, "no program was interrupted");
}

/// Calls are made once, whatever they are, and so is what a test decides.
#[test]
fn calls_with_interruptions() {
    if has_passed_alone() {
        return;
    }
    run_interrupted_in(20, "calls", Where::Near, false, translated::insert_calls);
    run_interrupted_in(20, "tested", Where::Far, false, translated::insert_tested);
    run_interrupted_in(20, "behind", Where::Far, false, translated::insert_around);
    run_interrupted_in(20, "changing", Where::Near, true, translated::insert_around);
    run_interrupted_in(20, "counters behind", Where::Near, false, translated::insert_counters_behind);
}

/// Also while code changes.
#[test]
fn changing_code_with_interruptions() {
    if has_passed_alone() {
        return;
    }
    run_interrupted("changing", Where::Near, true, translated::insert_counters);
}

/// The buffer gets what calls would get, wherever it is full.
#[test]
fn with_the_buffer() {
    if has_passed_alone() {
        return;
    }
    run_programs("buffer near", Where::Near, SETTINGS, stream::insert_buffered);
    run_programs("buffer far", Where::Far, Settings { max_blocks: 1, ..SETTINGS }, stream::insert_buffered);
    run_programs("buffer and counters", Where::Near, SETTINGS, stream::insert_buffered_and_counted);
    for optimisation in [Optimisation::Drain, Optimisation::Keep] {
        let off = Off(1 << optimisation as u32);
        run_programs("buffer", Where::Near, Settings { off, ..SETTINGS }, stream::insert_buffered);
        run_programs("buffer", Where::Near, Settings { off, ..SETTINGS }, stream::insert_buffered_and_counted);
    }
    run_programs("buffer unheld", Where::Low, Settings { off: Off::ALL, ..SETTINGS }, stream::insert_buffered);
}

/// Also if all registers are wanted at once.
#[test]
fn with_all_registers_in_the_buffer() {
    if has_passed_alone() {
        return;
    }
    run_programs("registers", Where::Near, SETTINGS, stream::insert_registers);
    run_programs("registers", Where::Far, Settings { max_blocks: 1, ..SETTINGS }, stream::insert_registers);
    run_programs("registers", Where::Low, Settings { off: Off::ALL, ..SETTINGS }, stream::insert_registers);
    for optimisation in [Optimisation::Hold, Optimisation::HomeSlots, Optimisation::Keep] {
        let off = Off(1 << optimisation as u32);
        run_programs("registers", Where::Near, Settings { off, ..SETTINGS }, stream::insert_registers);
    }
    run_interrupted_in(20, "registers", Where::Near, false, stream::insert_registers);
    run_changing("registers", Where::Near, stream::insert_registers);
}

/// Also if something is called.
#[test]
fn with_the_buffer_and_calls() {
    if has_passed_alone() {
        return;
    }
    run_programs("buffer calls", Where::Far, SETTINGS, stream::insert_buffered_beside_calls);
    run_programs("calls beside words", Where::Near, SETTINGS, stream::insert_words_beside_calls);
    run_interrupted("buffer calls", Where::Low, false, stream::insert_buffered_beside_calls);
}

/// Also if the program is interrupted.
#[test]
fn with_the_buffer_and_interruptions() {
    if has_passed_alone() {
        return;
    }
    run_interrupted("buffer", Where::Low, false, stream::insert_buffered);
    // Most traces go on to another one without a branch.
    let short = Settings { max_instructions: 3, ..SETTINGS };
    let instrument = stream::insert_buffered;
    run_seeds("buffer short", seeds(8), Where::Near, false, short, instrument, Translated::interrupt);
    run_interrupted("buffer and counters", Where::Near, false, stream::insert_buffered_and_counted);
}

/// Code that changes itself, ahead of where it is and behind.
#[test]
fn changing_code() {
    if has_passed_alone() {
        return;
    }
    run_changing("changing", Where::Low, translated::insert_counters);
    run_changing("changing", Where::Near, stream::insert_buffered);
}
