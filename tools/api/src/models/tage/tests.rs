//! Parts, cut and put together in whatever way, against the whole, written down as simply as can be; and what TAGE is for.

use super::machine::Machine;
use super::{Tage, TageShape};
use crate::models::random::{Random, folded};
use crate::tool::SliceInfo;

type Branch = (u64, bool);

/// The lowest `width` bits of the latest `length` bits, folded bit for bit.
fn fold(latest: &[bool], length: u32, width: u32) -> u64 {
    let back = latest.iter().rev().take(length as usize).enumerate();
    back.fold(0, |folded, (age, bit)| folded ^ u64::from(*bit) << (age as u32 % width))
}

/// Whether each branch is mispredicted. An entry is its tag, its counter and how useful it is.
fn simply([base, tables, bits, tag, ..]: [u32; 6], lengths: &[u32], branches: &[Branch]) -> Vec<bool> {
    let mut counters = vec![0_i32; 1 << base];
    let mut entries = vec![vec![(0_u64, 0_i32, 0_i32); 1 << bits]; tables as usize];
    let (mut outcomes, mut path, mut all) = (vec![false; 5000], vec![false; 16], Vec::new());
    let (mut doubts_new, mut chance) = (0_i32, 0x2545_f491_u32);
    let step = |value: i32, up: bool, least, most| (value + if up { 1 } else { -1 }).clamp(least, most);
    for &(address, taken) in branches {
        let place = |table: usize| {
            let length = lengths[table];
            let of_path = fold(&path, length.min(16), bits);
            let of_path = of_path << (bits / 2) ^ of_path >> (bits - bits / 2);
            let index = address ^ address >> bits ^ fold(&outcomes, length, bits) ^ of_path;
            let its_tag = address ^ fold(&outcomes, length, tag) ^ fold(&outcomes, length, tag - 1) << 1;
            (index as usize % (1 << bits), its_tag % (1 << tag))
        };
        let places: Vec<(usize, u64)> = (0..tables as usize).map(place).collect();
        let matching: Vec<usize> =
            (0..places.len()).filter(|&table| entries[table][places[table].0].0 == places[table].1).collect();
        let counter = &mut counters[address as usize % (1 << base)];
        let predictions: Vec<bool> = std::iter::once(*counter >= 2)
            .chain(matching.iter().map(|&table| entries[table][places[table].0].1 >= 0))
            .collect();
        let provided = *predictions.last().unwrap();
        let (mut predicted, mut first_longer, mut is_right_anew) = (provided, 0, false);
        if let Some(&table) = matching.last() {
            let entry = &mut entries[table][places[table].0];
            let other = predictions[predictions.len() - 2];
            let is_new = entry.2 == 0 && [-1, 0].contains(&entry.1);
            if is_new && doubts_new >= 0 {
                predicted = other;
            }
            if other != provided {
                entry.2 = step(entry.2, provided == taken, 0, 3);
                doubts_new = if is_new { step(doubts_new, other == taken, -8, 7) } else { doubts_new };
            }
            entry.1 = step(entry.1, taken, -4, 3);
            (first_longer, is_right_anew) = (table + 1, is_new && provided == taken);
        } else {
            *counter = step(*counter, taken, 0, 3);
        }
        if predicted != taken && !is_right_anew {
            let longer = first_longer..places.len();
            let free: Vec<usize> = longer.clone().filter(|&table| entries[table][places[table].0].2 == 0).collect();
            if free.is_empty() {
                longer.for_each(|table| entries[table][places[table].0].2 -= 1);
            } else {
                chance ^= chance << 13;
                chance ^= chance >> 17;
                chance ^= chance << 5;
                let table = free[(chance.trailing_ones() as usize).min(free.len() - 1)];
                entries[table][places[table].0] = (places[table].1, if taken { 0 } else { -1 }, 0);
            }
        }
        all.push(predicted != taken);
        outcomes.push(taken);
        path.push(address % 2 == 1);
    }
    all
}

/// Branches some of which go by those before them.
fn branches(random: &mut Random, count: u64) -> Vec<Branch> {
    let kinds: Vec<u64> = (0..12).map(|_| random.below(5)).collect();
    let mut latest = 0_u64;
    let branch = |n: u64| {
        let which = random.below(12);
        let taken = match kinds[which as usize] {
            0 => n.is_multiple_of(2),
            1 => !n.is_multiple_of(7),
            2 => latest >> 3 & 1 == 1,
            3 => (latest & 0xff).count_ones() > 4,
            _ => random.below(3) == 0,
        };
        latest = latest << 1 | u64::from(taken);
        (0x40 + which * 5, taken)
    };
    (0..count).map(branch).collect()
}

/// Sizes by chance, mostly so small that branches are in each other's way.
fn sizes(random: &mut Random) -> [u32; 6] {
    let tables = 1 + random.below(8) as u32;
    let shortest = 1 + random.below(8) as u32;
    let longest = if tables == 1 { shortest } else { shortest + tables - 1 + random.below(80) as u32 };
    let [base, bits, tag] = [5, 6, 9].map(|most| 2 + random.below(most) as u32);
    [base, tables, bits, tag, shortest, longest]
}

#[test]
fn parts_make_a_whole_in_whatever_way_they_are_put_together() {
    for seed in 0..400 {
        let mut random = Random::new(seed);
        let sizes = sizes(&mut random);
        let shape = TageShape::new(sizes).unwrap();
        let stream = branches(&mut random, 1000);
        let mispredicted = simply(sizes, &shape.lengths(), &stream);
        let mut expected = std::collections::BTreeMap::<u64, u64>::new();
        for ((address, _), _) in stream.iter().zip(mispredicted).filter(|(_, wrong)| *wrong) {
            *expected.entry(*address).or_default() += 1;
        }
        let mut found = std::collections::BTreeMap::<u64, u64>::new();
        let mut tell = |address, times| *found.entry(address).or_default() += times;
        let first = random.below(2);
        let mut parts = Vec::new();
        for (number, part) in (first..).zip(random.cut(&stream)) {
            let mut predictor = Tage::begin(shape, SliceInfo { number });
            for &(address, taken) in part {
                predictor.branch(address, taken, &mut tell);
            }
            let encoded = postcard::to_allocvec(&predictor).unwrap();
            parts.push(postcard::from_bytes(&encoded).unwrap());
        }
        let all = folded(parts, &mut random, |left: &mut Tage, right| left.append(right, &mut tell));
        all.end(tell);
        assert!(found == expected, "seed {seed}, {shape}");
    }
}

#[test]
fn a_part_goes_on_behind_what_was_appended() {
    let mut random = Random::new(1);
    let stream = branches(&mut random, 900);
    let mut whole = Machine::new(TageShape::default());
    let expected = stream.iter().filter(|(address, taken)| whole.branch(*address, *taken)).count() as u64;
    let mut found = 0;
    let begin = |number| Tage::begin(TageShape::default(), SliceInfo { number });
    let (mut left, mut right) = (begin(1), begin(2));
    for (number, &(address, taken)) in stream.iter().enumerate() {
        match number {
            ..300 => left.branch(address, taken, |_, _| {}),
            300..600 => right.branch(address, taken, |_, _| {}),
            600 => left.append(std::mem::take(&mut right), |_, _| {}),
            _ => {}
        }
        if number >= 600 {
            left.branch(address, taken, |_, _| {});
        }
    }
    left.end(|_, times| found += times);
    assert_eq!(found, expected);
}

/// How often it is wrong, of the latest of so many branches.
fn wrong_behind(warm_up: usize, stream: &[Branch]) -> usize {
    let mut machine = Machine::new(TageShape::default());
    let wrong: Vec<bool> = stream.iter().map(|(address, taken)| machine.branch(*address, *taken)).collect();
    wrong[warm_up..].iter().filter(|wrong| **wrong).count()
}

/// Counters by address are wrong at each loop's end.
#[test]
fn the_end_of_a_loop_is_foreseen_if_the_history_reaches_over_it() {
    for turns in [3, 10, 40, 100] {
        let stream: Vec<Branch> = (0..300_000).map(|n| (0x401000, n % turns != turns - 1)).collect();
        assert_eq!(wrong_behind(20_000, &stream), 0, "{turns}");
    }
}

#[test]
fn patterns_are_learnt_and_not_forgotten() {
    let pattern = 0b0000_1000_1100_1010_1110_u32;
    // Three times as many as the useful counters are halved after.
    let stream: Vec<Branch> = (0..800_000).map(|n| (0x401000, pattern >> (n % 20) & 1 == 1)).collect();
    assert_eq!(wrong_behind(20_000, &stream), 0);
}

/// A branch that goes as another one did, with thirty between them.
#[test]
fn a_branch_is_predicted_by_another_one_long_before() {
    let mut random = Random::new(7);
    let mut stream = Vec::new();
    for _ in 0..20_000 {
        let taken = random.below(2) == 1;
        stream.push((0x401000, taken));
        stream.extend((0..30).map(|n| (0x402000 + 6 * n, n % 3 == 0)));
        stream.push((0x403000, taken));
    }
    let wrong = wrong_behind(320_000, &stream);
    // Half of 10,000 are wrong that nothing foretells.
    assert!((4700..5400).contains(&wrong), "{wrong}");
}

#[test]
fn shapes_are_read_as_they_are_printed_and_impossible_ones_refused() {
    for text in ["tage,12,7,9,11,5,130", "tage,0,1,1,2,1,1", "tage,24,16,15,15,1,4096", "tage,10,3,4,5,1,3"] {
        assert_eq!(text.parse::<TageShape>().unwrap().to_string(), text);
    }
    let default: TageShape = "tage".parse().unwrap();
    assert_eq!((default, default.storage_bits()), (TageShape::default(), 64 << 10));
    assert_eq!(default.lengths(), [5, 9, 15, 25, 44, 76, 130]);
    let wrong = [
        "",
        "tage,",
        "tage,12",
        "tage,12,7,9,11,5,130,1",
        "tage,12,7,9,11,5,x",
        "tage,25,7,9,11,5,130",
        "tage,12,0,9,11,5,130",
        "tage,12,17,9,11,5,130",
        "tage,12,7,0,11,5,130",
        "tage,12,7,16,11,5,130",
        "tage,12,7,9,1,5,130",
        "tage,12,7,9,16,5,130",
        "tage,12,7,9,11,0,130",
        "tage,12,7,9,11,5,4097",
        "tage,12,7,9,11,5,10",
        "tage,12,1,9,11,5,130",
        "gshare,14,12",
    ];
    for wrong in wrong {
        assert!(wrong.parse::<TageShape>().is_err(), "{wrong}");
    }
}

#[test]
fn histories_grow_from_the_shortest_to_the_longest() {
    for seed in 0..1000 {
        let sizes = sizes(&mut Random::new(seed));
        let [_, tables, .., shortest, longest] = sizes;
        let lengths = TageShape::new(sizes).unwrap().lengths();
        let grow = lengths.windows(2).all(|pair| pair[0] < pair[1]);
        assert_eq!(lengths.len(), tables as usize);
        assert!(grow && lengths[0] == shortest && lengths.last() == Some(&longest), "{sizes:?}: {lengths:?}");
    }
}
