//! What analysis routines write, and how that must agree.

use bubble::map;

use crate::Outcome;

/// Local state: three counters, and a place for what routines see.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Local {
    pub by_instruction: u64,
    pub by_block: u64,
    pub by_call: u64,
    pub seen: [u64; 8],
    /// How often a test said yes that was put in place, or called; how often the calls were made, and with what.
    pub tested: [u64; 2],
    pub chosen: [u64; 2],
    pub ways: [u64; 2],
    pub passed: [u64; 2],
    pub mixed: [u64; 2],
    /// Instructions that may have calls behind them: executed, and such calls made; conditional branches that were said to be taken, and were.
    pub around: [u64; 4],
    /// Instructions, of which [`check_counters`] knows nothing.
    pub steps: u64,
    /// Weights of the instructions that were executed, see [`super::blocks`].
    pub weight: u64,
    /// What routines leave for which little is put aside, and how often each was called.
    pub partly: [u64; 5],
}

/// As it is now.
pub fn counters() -> Local {
    // SAFETY: LOCAL is mapped; routines, which alone write to it, aren't running.
    unsafe { (engine::own(map::LOCAL.start) as *const Local).read() }
}

/// Inlined and called routines see the same arguments. Both ways to count agree, also if the program ends by a fault: what didn't take effect isn't counted.
/// And an interruption doesn't make a call twice.
pub fn check_counters(before: Local, now: Local, outcome: Outcome) {
    let by_instruction = now.by_instruction.wrapping_sub(before.by_instruction);
    let by_block = now.by_block.wrapping_sub(before.by_block);
    assert_eq!(now.seen[4].wrapping_add(now.seen[5]), 0, "counted in parts, {outcome:x?}");
    assert_eq!(now.seen[0], now.seen[1], "arguments seen by the inlined and by the called routine, {outcome:x?}");
    assert_eq!(by_instruction, by_block, "counted by instruction and by block, {outcome:x?}");
    assert_eq!(
        (now.chosen[0], now.ways[0]),
        (now.chosen[1], now.ways[1]),
        "branches in place and called, {outcome:x?}"
    );
    assert_eq!(now.tested, now.passed, "tests that said yes and calls, {outcome:x?}");
    assert_eq!((now.tested[0], now.mixed[0]), (now.tested[1], now.mixed[1]), "tests in place and called, {outcome:x?}");
    let around: [u64; 4] = std::array::from_fn(|n| now.around[n].wrapping_sub(before.around[n]));
    assert_eq!(around[0], around[1], "executed, and calls behind, {outcome:x?} {around:?}");
    assert_eq!(around[2], around[3], "said to be taken, and taken, {outcome:x?}");
    let by_call = now.by_call.wrapping_sub(before.by_call);
    if by_call != 0 {
        // Nothing is taken back of what is done before an instruction that faults.
        let too_many = by_call.wrapping_sub(by_instruction);
        let most = u64::from(matches!(outcome, Outcome::Fault(..)));
        assert!(too_many <= most, "counted by calls {by_call}, by instruction {by_instruction}, {outcome:x?}");
    }
}
