//! Where regions begin and end, against the numbers of instructions in the source of the guest `regions`.

use std::collections::BTreeMap;
use std::ops::Range;

use suites::guest;
use suites::superpin::count_with;

/// What is executed, in order.
fn executed() -> Vec<&'static str> {
    let round = ["mov", "nop", "call", "lea", "ret", "mov", "nop", "dec", "jne"];
    [&["mov"][..], &round, &round, &round, &["mov", "xor", "syscall"]].concat()
}

/// How often each mnemonic is among these.
fn mix(region: Range<usize>) -> BTreeMap<&'static str, u64> {
    let mut mix = BTreeMap::new();
    executed()[region].iter().for_each(|name| *mix.entry(*name).or_default() += 1);
    mix
}

/// Serial ways to run, and sliced ones.
const MODES: [&str; 5] =
    ["-sp 0", "-sp 1 -spsysrecs 0", "-sp 0 -trace-blocks 1", "-sp 1 -spmsec 5 -share 0", "-sp 0 -engine none"];

fn check(region: &str, expected: Range<usize>) {
    check_in(&MODES, region, expected);
}

fn check_in(modes: &[&str], region: &str, expected: Range<usize>) {
    for mode in modes {
        let options: Vec<&str> = mode.split(' ').chain(region.split(' ')).collect();
        let counted = count_with("opcodes", &options, &guest::named("regions").job(1)).unwrap();
        let seen: BTreeMap<&str, u64> = counted
            .printed
            .lines()
            .filter_map(|line| Some((line.split_whitespace().last()?, line.split_whitespace().next()?.parse().ok()?)))
            .collect();
        assert_eq!(counted.total, Some(expected.len() as u64), "{options:?}: {counted:?}");
        assert_eq!(seen, mix(expected.clone()), "{options:?}: {}", counted.printed);
    }
}

#[test]
fn a_region_begins_before_the_instruction_with_its_number() {
    let all = executed().len();
    for number in 0..all {
        check_in(&MODES[..2], &format!("-start-icount {number} -trace 1"), number..number + 1);
    }
    check("-skip 28", 28..all);
    check("-stop-icount 11", 0..11);
    check("-skip 5 -stop-icount 12", 5..12);
    check("-start-icount 500", 0..0);
}

#[test]
fn places_are_counted_from_the_event_before() {
    let all = executed().len();
    check("-start-marker 0x111:2 -stop-marker 0x222", 11..16);
    check("-start-marker 273 -trace 3", 2..5);
    check("-stop-marker 0x111:3", 0..20);
    check("-start-symbol work:2 -trace 2", 13..15);
    // The execution at which it begins isn't one after the start.
    check("-start-symbol work -stop-symbol work", 4..13);
    check("-start-symbol work -stop-symbol work:2", 4..22);
    check("-start-symbol work:4", 0..0);
    check("-start-address 0x401027:3 -skip 1 -stop-icount 29", 23..29);
    check("-start-address 401027 -stop-address 0x401025", 4..all - 1);
    // The end has passed when it begins.
    check("-start-symbol work:3 -stop-icount 10", 0..0);
    // Begun by its number right at a place: that execution isn't one after the start either.
    check("-start-icount 4 -stop-address 0x401027", 4..13);
}
