//! What is decided by the first traces of a run: what is done about counters, and what r11 is for.

use bubble::switches::Optimisation;

use crate::abi::{CounterPlace, Counters, Reserved};
use crate::emit::emitter::Rules;
use crate::routines::{RoutineFacts, routine_of, test_of};
use crate::trace::{AnalysisCall, Point, Trace};

/// The first calls of a run decide what is done about counters: if one of this trace may read a counter in place, none has shards.
pub(in crate::emit) fn choose_counters(trace: &Trace, rules: &Rules<'_>) {
    if !rules.counters.is_undecided() {
        return;
    }
    let is_counter =
        |call: &AnalysisCall| !call.predicated && call.test.is_none() && rules.known.added_by(call, 1).is_some();
    let reads = |call: &AnalysisCall| {
        let index = match call.point {
            Point::Anywhere(block) => trace.block(block).start,
            point => point.index().expect("a point at an instruction"),
        };
        let instruction = &trace.instructions[index];
        if let Some(test) = call.of_test() {
            return test_of(&test, instruction, rules.off).is_some_and(|routine| routine.uses_memory());
        }
        let routine = || routine_of(call, instruction, 1, rules.off);
        !call.predicated && !is_counter(call) && routine().is_some_and(|routine| routine.uses_memory())
    };
    if trace.calls.iter().any(reads) {
        rules.counters.may_be_read();
    } else if rules.off.leaves(Optimisation::Inline) && trace.calls.iter().any(is_counter) {
        // Not whatever is called before the counter is come to.
        rules.counters.may_have_shards();
    }
}

/// Decides what r11 is for, from the first trace of a run.
pub(in crate::emit) fn decide(trace: &Trace, rules: &Rules<'_>) {
    let on = |all: &[Optimisation]| all.iter().all(|&optimisation| rules.off.leaves(optimisation));
    rules.counters.reserve(|| {
        let counts = |call: &AnalysisCall| {
            let word = if call.predicated || call.test.is_some() { None } else { rules.known.added_by(call, 1) };
            word.is_some_and(|(address, _)| {
                rules.counters.place(address, trace.head()) != CounterPlace::Word(address)
                    && rules.counters.is_first(address)
            })
        };
        if !trace.buffered.is_empty() && on(&[Optimisation::Keep, Optimisation::Hold]) {
            Reserved::BufferPointer
        } else if on(&[Optimisation::CounterRegister, Optimisation::Shards, Optimisation::Inline])
            && trace.calls.iter().any(counts)
        {
            Reserved::CounterRegister
        } else {
            Reserved::No
        }
    });
}

/// Whether the call does nothing but add to the word that has the counter register.
pub(in crate::emit) fn adds_to_counter_register(
    call: &AnalysisCall,
    known: &RoutineFacts,
    counters: &Counters,
) -> bool {
    let is_in_register = |(address, _)| counters.is_in_register(address);
    !call.predicated
        && call.test.is_none()
        && counters.reserved() == Reserved::CounterRegister
        && known.added_by(call, 1).is_some_and(is_in_register)
}
