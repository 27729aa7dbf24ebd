//! The engine's optimisations turned off: each where it changes the code that is made, all, and random combinations.

use bubble::switches::{Off, Optimisation};
use engine::Settings;
use isa::random::Rng;

use crate::alone::has_passed_alone;
use crate::arena::Where;
use crate::stream::{Instrument, insert_buffered, insert_buffered_and_counted};
use crate::translated::{
    Translated, insert_around, insert_block_counters, insert_calls, insert_counters, insert_counters_behind,
    insert_steps, insert_tested,
};
use crate::{SETTINGS, run_seeds, seeds, variable};

/// How programs are instrumented, where they lie, and whether flags are exact at faults.
struct Way {
    name: &'static str,
    instrument: Instrument,
    place: Where,
    exact_faults: bool,
}

const fn way(name: &'static str, instrument: Instrument, place: Where, exact_faults: bool) -> Way {
    Way { name, instrument, place, exact_faults }
}

/// Those that read what they count in place come with counters in memory; the others with counter register and shards.
const WAYS: [Way; 9] = [
    way("calls", insert_calls, Where::Far, true),
    way("counters", insert_counters, Where::Near, false),
    way("tested", insert_tested, Where::Low, true),
    way("around", insert_around, Where::Near, true),
    way("counters behind", insert_counters_behind, Where::Low, false),
    way("blocks", insert_block_counters, Where::Far, false),
    way("steps", insert_steps, Where::Near, true),
    way("words", insert_buffered, Where::Low, true),
    way("words and blocks", insert_buffered_and_counted, Where::Far, false),
];

impl Way {
    fn named(name: &str) -> &'static Way {
        WAYS.iter().find(|way| way.name == name).expect("there is such a way")
    }

    /// Runs programs with this off. Returns a number for each that stands for the code made so far.
    fn run(&self, off: Off) -> Vec<u64> {
        let first = variable("SUPERPIN_SEED", 1);
        let seeds = first..first + variable("SUPERPIN_PROGRAMS", 400).div_ceil(20);
        let settings = Settings { off, exact_faults: self.exact_faults, ..SETTINGS };
        run_seeds(&format!("{} {off:?}", self.name), seeds, self.place, false, settings, self.instrument, |_| {})
    }
}

/// Where an optimisation changes code: what has to be off besides, since it would be used instead, and how programs are instrumented.
type Trial = (&'static [Optimisation], &'static str);

/// None for what changes no code of a process that shares nothing: whether flags are remembered (see `dispatch.rs`), and what concerns slices, threads or memory that is
/// mapped twice, which the suites turn off.
fn trials(optimisation: Optimisation) -> &'static [Trial] {
    use Optimisation as O;
    match optimisation {
        O::Inline => &[(&[], "calls"), (&[], "tested"), (&[], "blocks")],
        O::Merge => &[(&[], "steps")],
        O::Anywhere | O::FlagLookahead => &[(&[], "blocks"), (&[], "words and blocks")],
        O::Shards => &[(&[], "blocks"), (&[O::CounterRegister], "steps")],
        O::CounterRegister => &[(&[], "blocks"), (&[], "steps"), (&[], "counters behind")],
        O::HomeSlots | O::Late => &[(&[], "calls"), (&[], "words")],
        O::Operands => &[(&[], "calls"), (&[], "words and blocks")],
        O::IblStubs => &[(&[], "blocks"), (&[O::TargetMap], "around")],
        O::TargetMap => &[(&[], "around"), (&[], "words")],
        O::ConstantPointers => &[(&[], "blocks"), (&[O::TargetMap], "calls")],
        O::Neighbours | O::Prefetch => &[(&[O::TargetMap], "counters"), (&[O::TargetMap], "tested")],
        O::Hold => &[(&[], "words"), (&[O::Keep], "words and blocks")],
        O::Keep => &[(&[], "words"), (&[], "words and blocks")],
        O::Drain => &[(&[], "words"), (&[O::Keep], "words and blocks")],
        O::Stubs => &[(&[], "counters"), (&[], "words")],
        O::Call | O::Aside => &[(&[], "calls"), (&[], "around")],
        O::Partly => &[(&[], "calls")],
        O::Rip => &[(&[], "calls"), (&[], "tested"), (&[], "around"), (&[], "steps"), (&[], "words and blocks")],
        O::CleanCall => &[(&[], "tested"), (&[], "words")],
        // See `whole.rs`.
        O::VectorWords => &[],
        O::Remember | O::Inherit | O::FastPath | O::SelfCheck | O::Snapshot | O::Windows => &[],
    }
}

/// Programs do the same, and their code isn't the same.
#[test]
fn each_optimisation_off_where_it_changes_code() {
    if has_passed_alone() {
        return;
    }
    let mut usual: Vec<(Off, &str, Vec<u64>)> = Vec::new();
    for optimisation in Optimisation::ALL {
        let possible = Off::default().on_this_processor().leaves(optimisation);
        for &(besides, name) in trials(optimisation).iter().filter(|_| possible) {
            let base = besides.iter().fold(Off::default(), |off, &o| off.and(o));
            let known = usual.iter().position(|(off, way, _)| (*off, *way) == (base, name));
            let known = known.unwrap_or_else(|| {
                usual.push((base, name, Way::named(name).run(base)));
                usual.len() - 1
            });
            let without = Way::named(name).run(base.and(optimisation));
            assert_ne!(usual[known].2, without, "{optimisation:?} makes no difference to {name}");
        }
    }
    // Nothing else makes one.
    let (off, name, codes) = &usual[0];
    assert_eq!(*codes, Way::named(name).run(*off));
}

/// As a further thread, which has what is its own elsewhere.
#[test]
fn in_another_window_with_interruptions() {
    if has_passed_alone() {
        return;
    }
    let settings = Settings { off: Off::default().and(Optimisation::Rip), ..SETTINGS };
    for (name, place, changes, instrument) in [
        ("window, counters", Where::Far, false, insert_counters as Instrument),
        ("window, calls", Where::Near, false, insert_calls),
        ("window, tested", Where::Low, true, insert_tested),
        ("window, buffer", Where::Near, false, insert_buffered_and_counted),
    ] {
        run_seeds(name, seeds(16), place, changes, settings, instrument, Translated::interrupt);
    }
}

#[test]
fn all_optimisations_off() {
    if has_passed_alone() {
        return;
    }
    WAYS.iter().for_each(|way| drop(way.run(Off::ALL)));
}

#[test]
fn random_combinations_off() {
    if has_passed_alone() {
        return;
    }
    let first = variable("SUPERPIN_SEED", 1);
    for (n, way) in WAYS.iter().enumerate() {
        way.run(Off(Rng(first ^ (n as u64) << 32).below(u64::from(Off::ALL.0) + 1) as u32));
    }
}
