//! What is counted, and the tests of it: memory at the same address in every process, and routines that are short enough to be put in place.

use bubble::map::PREFIX;
use bubble::region::COUNTERS;
use translator::trace::{AnalysisCall, Arg, Point, Test};

/// A counter, and what it has to reach for an event to come.
#[repr(C)]
pub struct Counter {
    count: u64,
    target: u64,
}

const _: () = assert!((COUNTERS * size_of::<Counter>()) as u64 <= PREFIX.size);

/// The counters. Translated code has their addresses.
fn counter(number: usize) -> *mut Counter {
    assert!(number < COUNTERS, "there is no counter {number}");
    (PREFIX.start as *mut Counter).wrapping_add(number)
}

/// What was counted. Only while translated code doesn't run.
pub fn counts() -> [u64; COUNTERS] {
    // SAFETY: the region is mapped in a taken-over process, and nobody writes there now.
    std::array::from_fn(|number| unsafe { (*counter(number)).count })
}

/// Begins with these. Only while translated code doesn't run.
pub fn begin(counts: &[u64; COUNTERS]) {
    for (number, &count) in counts.iter().enumerate() {
        // SAFETY: as above, and nobody else holds a reference.
        unsafe { counter(number).write(Counter { count, target: 0 }) };
    }
}

/// An event comes when the counter has reached `target`. Only while translated code doesn't run.
pub fn set_target(number: usize, target: u64) {
    // SAFETY: as above.
    unsafe { (*counter(number)).target = target };
}

/// Counts each execution of a block's instructions.
pub fn count(number: usize, point: Point) -> AnalysisCall {
    AnalysisCall::new(point, add as *const () as usize, counter(number) as u64, vec![Arg::BlockInstructions])
}

/// Has the host asked before an instruction if the counter has reached its target, or if it does before another `ahead` are counted.
pub fn ask_at(index: usize, number: usize, ahead: u64) -> AnalysisCall {
    let local = counter(number) as u64;
    let test = Test { routine: comes_within as *const () as usize, args: vec![Arg::Const(ahead)] };
    AnalysisCall::asking(index, ask as *const () as usize, local, test)
}

extern "C" fn add(counter: &mut Counter, more: u64) {
    counter.count = counter.count.wrapping_add(more);
}

/// The sign bit: targets and counts are far from 2^63.
extern "C" fn comes_within(counter: &Counter, ahead: u64) -> u64 {
    counter.target.wrapping_sub(counter.count).wrapping_sub(ahead) >> 63
}

extern "C" fn ask(_: &Counter) {
    engine::ask();
}

/// These aren't the tool's.
pub fn disown() {
    engine::routines::disown(&[add as *const () as u64, comes_within as *const () as u64, ask as *const () as u64]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_within_reach_is_told() {
        let counter = |count, target| Counter { count, target };
        // Of a block of four instructions: its target is one of them, or the first behind it.
        assert_eq!([10, 13, 14].map(|target| comes_within(&counter(10, target), 4)), [1, 1, 0]);
        assert_eq!([9, 10, 11].map(|target| comes_within(&counter(10, target), 1)), [1, 1, 0]);
    }
}
