//! The tools `opcodes` and `branches`: against counts made by hand from the source of the guest `addresses`, and against each other's
//! facts on programs that fault and throw.

use suites::guest;
use suites::superpin::{EACH_CALL, SERIAL, count_with};

/// What a tool prints about a guest in some rounds.
fn printed(tool: &str, options: &str, guest: &str, rounds: u64) -> String {
    let options: Vec<_> = options.split(' ').collect();
    let counted = count_with(tool, &options, &guest::named(guest).job(rounds)).unwrap();
    assert!(counted.total.is_some(), "{tool} {options:?}: {:?}", counted.outcome);
    counted.printed
}

/// Options to compare, the first of which is a plain serial run.
const MODES: [&str; 5] =
    ["-sp 0", "-sp 0 -trace-blocks 1", "-sp 1 -spsysrecs 0", "-sp 0 -engine none", "-sp 1 -spmsec 5 -engine no-inline"];

#[test]
fn branches_are_those_of_the_source() {
    let expected = "Total Count: 5
               0 conditional, forward, taken
               0 conditional, forward, not taken
               2 conditional, backward, taken
               1 conditional, backward, not taken
               0 jump
               0 indirect jump
               1 call
               0 indirect call
               1 return
Result: exact
";
    for options in MODES {
        assert_eq!(printed("branches", options, "addresses", 1), expected, "{options}");
    }
}

#[test]
fn opcodes_are_those_of_the_source() {
    for options in MODES {
        let all = printed("opcodes", options, "addresses", 1);
        let count = |name: &str| {
            let line = all.lines().find(|line| line.split_whitespace().last() == Some(name))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        };
        for (name, expected) in
            [("movabs", None), ("syscall", Some(2)), ("dec", Some(3)), ("push", Some(2)), ("lea", Some(2))]
        {
            assert_eq!(count(name), expected, "{name} {options}: {all}");
        }
    }
}

/// Also where instructions fault and exceptions leave functions.
#[test]
fn mixes_are_the_same_in_slices_and_opcodes_add_up() {
    for guest in ["fault_kinds", "exceptions.static", "indirect_calls"] {
        let rounds = guest::named(guest).large.div_ceil(10);
        let total = |tool, options: &[&str]| count_with(tool, options, &guest::named(guest).job(rounds)).unwrap();
        for tool in ["opcodes", "branches"] {
            let [serial, sliced] = [SERIAL.options, EACH_CALL.options].map(|options| total(tool, options));
            assert!(serial.total.is_some(), "{tool} {guest}: {:?}", serial.outcome);
            assert_eq!(sliced.printed, serial.printed, "{tool} {guest}: {:?}", sliced.outcome);
        }
        assert_eq!(total("opcodes", SERIAL.options).total, total("icount1", SERIAL.options).total, "{guest}");
    }
}

/// What is counted where a branch goes is counted once where a slice ends at one that is a block by itself.
#[test]
fn a_jump_at_the_end_of_a_slice_counts_once() {
    let job = guest::named("jump_alone").job(6000);
    let counted = |options: &[&str]| count_with("branches", options, &job).unwrap();
    let serial = counted(SERIAL.options);
    let sliced = counted(&["-sp", "1", "-spmsec", "5"]);
    assert!(serial.total.is_some(), "{:?}", serial.outcome);
    assert_eq!(sliced.printed, serial.printed, "{:?}", sliced.outcome);
    assert!(sliced.statistic("boundaries_timeout").unwrap() > 0.0, "{}", sliced.report);
}
