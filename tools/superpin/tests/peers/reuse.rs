//! `reuse` against what one finds by looking at all accesses, and against a simulated cache.

use std::collections::HashMap;

use suites::run::Scratch;

use super::programs::{counts, text};

/// Least distance and count, and accesses to what is new.
fn ranges(result: &str) -> (Vec<(u64, u64)>, u64) {
    let columns = result.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let mut first = 0;
    let mut ranges = Vec::new();
    for columns in columns.filter(|columns| columns.len() >= 3) {
        match (columns[0].parse(), columns[1].parse()) {
            (Ok(least), Ok(count)) => ranges.push((least, count)),
            (Err(_), Ok(count)) if columns[0] == "first" => first = count,
            _ => {}
        }
    }
    (ranges, first)
}

/// By a list of lines, the last one touched first.
fn by_force(memtrace: &str) -> (Vec<(u64, u64)>, u64) {
    let mut stack: Vec<u64> = Vec::new();
    let mut counts: HashMap<u32, u64> = HashMap::new();
    let mut first = 0;
    let mut last = None;
    for line in memtrace.lines().filter(|line| !line.starts_with('#')) {
        let columns: Vec<&str> = line.split(' ').collect();
        // What loads and stores at once is one access.
        let is_same = last.replace((columns[0], columns[2])) == Some((columns[0], columns[2])) && columns[1] == "W";
        if is_same {
            continue;
        }
        let address = u64::from_str_radix(&columns[2][2..], 16).unwrap();
        let size: u64 = columns[3].parse().unwrap();
        for touched in address >> 6..=(address + size - 1) >> 6 {
            match stack.iter().rposition(|line| *line == touched) {
                None => first += 1,
                Some(at) => {
                    let distance = (stack.len() - 1 - at) as u64;
                    *counts.entry(64 - distance.leading_zeros()).or_default() += 1;
                    stack.remove(at);
                }
            }
            stack.push(touched);
        }
    }
    let most = counts.keys().max().map_or(0, |most| most + 1);
    let least = |range: u32| if range == 0 { 0 } else { 1 << (range - 1) };
    ((0..most).map(|range| (least(range), counts.get(&range).copied().unwrap_or(0))).collect(), first)
}

#[test]
fn distances_are_those_of_all_accesses() {
    let folder = Scratch::new().unwrap();
    let app = [counts(&folder.cwd())];
    let found = ranges(&text("-sp 1 -spmsec 5 -t reuse --repeat once", &folder.cwd(), &app));
    let expected = by_force(&text("-sp 0 -t memtrace", &folder.cwd(), &app));
    assert_eq!(found, expected);
    assert!(found.0.len() > 9, "{found:?}");
}

#[test]
fn a_cache_misses_what_is_as_far_as_it_has_lines() {
    let folder = Scratch::new().unwrap();
    let app = [counts(&folder.cwd())];
    let (ranges, first) = ranges(&text("-sp 0 -t reuse", &folder.cwd(), &app));
    for lines in [4, 64, 512] {
        let options = format!("-sp 1 -spmsec 5 -t allcache --l2 none --llc none --l1d {},{lines},64", lines * 64);
        let misses = text(&options, &folder.cwd(), &app)
            .lines()
            .filter(|line| line.starts_with("L1D"))
            .map(|line| line.split_whitespace().nth(3).unwrap().parse::<u64>().unwrap())
            .sum::<u64>();
        let far: u64 = ranges.iter().filter(|(least, _)| *least >= lines).map(|(_, count)| count).sum();
        assert_eq!(misses, far + first, "{lines} lines");
    }
}
