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

/// A place that is waited for isn't where some instruction raises a signal, unless it is there.
#[test]
fn places_are_told_from_instructions_that_fault() {
    let job = guest::named("fault_strings").job(1);
    let total = |mode: &str, region: &str| {
        let options: Vec<&str> = mode.split(' ').chain(region.split(' ').filter(|word| !word.is_empty())).collect();
        let counted = count_with("icount2", &options, &job).unwrap();
        counted.total.unwrap_or_else(|| panic!("{options:?}: {counted:?}"))
    };
    let modes = ["-sp 0", "-sp 1 -spmsec 1000", "-sp 1 -spmsec 2", "-sp 1 -spsysrecs 0"];
    let regions = ["-start-symbol nowhere", "-start-marker 5", "-stop-symbol nowhere", "-start-symbol handler:3"];
    let serial = regions.map(|region| total("-sp 0", region));
    assert_eq!(serial[..3], [0, 0, total("-sp 0", "")]);
    assert!((1..serial[2]).contains(&serial[3]), "{serial:?}");
    for mode in &modes[1..] {
        assert_eq!(regions.map(|region| total(mode, region)), serial, "{mode}");
    }
}

#[test]
fn a_region_that_never_begins_is_told() {
    let job = guest::named("regions").job(1);
    for mode in MODES {
        for (region, why) in [
            ("-start-symbol work:4", "the function work was executed 3 times, 4 are waited for"),
            ("-start-marker 0x111:9 -trace 3", "the marker 0x111 was executed 3 times, 9 are waited for"),
            ("-start-icount 500", "31 instructions were executed, 500 are waited for"),
        ] {
            let options: Vec<&str> = mode.split(' ').chain(region.split(' ')).collect();
            let counted = count_with("icount2", &options, &job).unwrap();
            let told = String::from_utf8_lossy(&counted.outcome.stderr).into_owned();
            assert!(told.contains(&format!("superpin: the region never began: {why}")), "{options:?}: {told}");
            assert_eq!(counted.total, Some(0), "{options:?}");
        }
        let options: Vec<&str> = mode.split(' ').chain(["-start-icount", "5"]).collect();
        let counted = count_with("icount2", &options, &job).unwrap();
        assert!(counted.outcome.stderr.is_empty(), "{:?}", counted.outcome);
    }
}

/// The app is ended while slices that matter are still to be run and to be proved.
#[test]
fn an_app_that_is_ended_behind_the_region_takes_nothing_with_it() {
    let job = guest::named("loops").job(100_000);
    for mode in ["-sp 0", "-sp 1 -spmsec 200", "-sp 1 -spmsec 20", "-sp 1 -spmsec 3"] {
        for region in ["-start-icount 50000 -trace 100000", "-skip 3000000 -trace 2000000"] {
            let options: Vec<&str> = mode.split(' ').chain(region.split(' ')).chain(["-then", "end"]).collect();
            let counted = count_with("icount2", &options, &job).unwrap();
            let length = region.rsplit_once(' ').unwrap().1.parse().unwrap();
            assert_eq!(counted.total, Some(length), "{options:?}: {counted:?}");
        }
    }
}
