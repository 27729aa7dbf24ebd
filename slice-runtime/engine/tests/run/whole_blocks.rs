//! That a block is entered once, although it is stopped for something that isn't the app's affair.

use bubble::map;
use bubble::switches::Optimisation;
use translator::trace::{Arg, Buffered, Point, Trace};

use crate::optimised::{rounds, without};
use crate::{count_called, insert, run};

/// A call for each execution of a block that isn't compensated.
fn count_entries(trace: &mut Trace) {
    for block in 0..trace.block_ends.len() {
        insert(trace, Point::Anywhere(block), Arg::Const(1));
        trace.calls.last_mut().expect("just inserted").routine = count_called as *const () as usize;
    }
}

/// Words before one instruction of each block, the first or the second.
fn with_words(trace: &mut Trace, place: usize) {
    count_entries(trace);
    let places = (0..trace.block_ends.len()).map(|block| trace.block(block)).filter(|block| block.len() > place);
    let word = |index| Buffered { index, words: vec![Arg::Const(7)] };
    trace.buffered = places.map(|block| word(block.start + place)).collect();
}

#[test]
fn a_full_buffer_leaves_entries_of_blocks_as_they_are() {
    const TIMES: u64 = 5;
    const ROUNDS: u64 = TIMES * map::BUFFER.size / size_of::<u64>() as u64;
    let off = [Optimisation::Drain];
    let plain = run(without(&off), rounds, ROUNDS, count_entries);
    let ways: [fn(&mut Trace); 2] = [|trace| with_words(trace, 0), |trace| with_words(trace, 1)];
    for (place, way) in ways.into_iter().enumerate() {
        for off in [&off[..], &[Optimisation::Drain, Optimisation::Anywhere]] {
            let full = run(without(off), rounds, ROUNDS, way);
            assert!(full.drained.len() as u64 >= TIMES, "{:?}", full.drained);
            assert_eq!((full.result, full.local[0]), (plain.result, plain.local[0]), "{place} {off:?}");
        }
    }
}
