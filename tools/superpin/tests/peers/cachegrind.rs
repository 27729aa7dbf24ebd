//! Caches against valgrind's cachegrind.

use std::collections::BTreeMap;
use std::process::Command;

use suites::run::Scratch;

use super::programs::{counts, is_there, succeeds, text};
use super::valgrind::{number, symbol, valgrind};

/// Whose options are those of cachegrind in these tests.
const THEIRS: &str =
    "--tool=cachegrind --cache-sim=yes --I1=16384,4,64 --D1=16384,4,64 --LL=1048576,16,64 --cachegrind-out-file=FILE";

#[test]
fn cachegrind_counts_the_same_accesses_and_nearly_the_same_misses() {
    if !is_there("valgrind") {
        return;
    }
    let folder = Scratch::new().unwrap();
    let app = counts(&folder.cwd());
    let theirs = valgrind(THEIRS, &folder.beside("theirs"), &app);
    let summary = theirs.lines().find_map(|line| line.strip_prefix("summary: ")).unwrap();
    let summary: Vec<u64> = summary.split(' ').map(number).collect();
    let [_, i1, _, loads, d1_loads, ll_loads, stores, d1_stores, ll_stores] = summary[..] else {
        panic!("{summary:?}")
    };
    let options = "-sp 1 -spmsec 5 -t allcache --l1i 16K,4,64 --l1d 16K,4,64 --l2 none --llc 1M,16,64";
    let ours = text(options, &folder.cwd(), &[app]);
    let row = |name: &str| {
        let row = ours.lines().find(|line| line.starts_with(name)).unwrap_or_else(|| panic!("{ours}"));
        let columns: Vec<&str> = row.split_whitespace().collect();
        (number(columns[2]), number(columns[3]))
    };
    assert_eq!((row("L1D loads").0, row("L1D stores").0), (loads, stores));
    // Their stack lies in other sets than ours.
    let misses = [
        (row("L1I fetches").1, i1),
        (row("L1D loads").1, d1_loads),
        (row("L1D stores").1, d1_stores),
        (row("LLC loads").1, ll_loads),
        (row("LLC stores").1, ll_stores),
    ];
    for (found, expected) in misses {
        assert!(found.abs_diff(expected) <= 4 + expected / 1000, "{misses:?}");
    }
    assert!(d1_loads > 1000, "{summary:?}");
}

/// By function and line: `Ir I1mr ILmr Dr D1mr DLmr Dw D1mw DLmw`.
fn events(text: &str) -> BTreeMap<(String, u64), Vec<u64>> {
    let (mut function, mut all) = (String::new(), BTreeMap::new());
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            function = symbol(name);
        } else if line.starts_with(|first: char| first.is_ascii_digit()) {
            let numbers: Vec<u64> = line.split(' ').map(number).collect();
            let sums: &mut Vec<u64> = all.entry((function.clone(), numbers[0])).or_insert_with(|| vec![0; 9]);
            sums.iter_mut().zip(&numbers[1..]).for_each(|(sum, more)| *sum += more);
        }
    }
    all
}

#[test]
fn cachegrind_says_the_same_of_each_line() {
    if !is_there("valgrind") {
        return;
    }
    let folder = Scratch::new().unwrap();
    let app = counts(&folder.cwd());
    let theirs = events(&valgrind(THEIRS, &folder.beside("theirs"), &app));
    let options = "-sp 1 -spmsec 5 -t cache --cachegrind --l1i 16K,4,64 --l1d 16K,4,64 --llc 1M,16,64";
    let written = text(options, &folder.cwd(), &[app]);
    let ours = events(&written);
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    let mut misses = [0; 2];
    for (place, theirs) in &theirs {
        let ours = &ours[place];
        // They count a step more of each instruction that repeats: the one that finds that it is over.
        let more = if place.0 == "copies" { 10 } else { 0 };
        assert!((ours[0]..=ours[0] + more).contains(&theirs[0]), "{place:?}: {ours:?} {theirs:?}");
        assert_eq!((ours[3], ours[6]), (theirs[3], theirs[6]), "{place:?}: loads and stores");
        // Their stack lies in other sets than ours.
        for n in [1, 2, 4, 5, 7, 8] {
            assert!(ours[n].abs_diff(theirs[n]) <= 16 + theirs[n] / 500, "{place:?}: {ours:?} {theirs:?}");
        }
        misses[0] += ours[4];
        misses[1] += theirs[4];
    }
    assert!(misses[0] > 1000, "{misses:?}");
    // Their own program reads it.
    let file = folder.beside("ours");
    std::fs::write(&file, written).unwrap();
    let read = String::from_utf8_lossy(&succeeds(Command::new("cg_annotate").arg(&file))).into_owned();
    assert!(read.contains("counts.c:strides"), "{read}");
}
