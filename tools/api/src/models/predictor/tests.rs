//! Parts, cut and put together in whatever way, against the whole, written down as simply as can be.

use super::{Predictor, PredictorKind, PredictorShape};
use crate::models::random::{Random, folded};
use crate::tool::SliceInfo;

type Branch = (u64, bool);
type Mispredicted = std::collections::BTreeMap<u64, u64>;

fn simply(kind: PredictorKind, bits: u32, history: u32, branches: &[Branch]) -> Mispredicted {
    let mut counters = vec![0_i32; 1 << bits];
    let mut taken_before: Vec<bool> = vec![false; history as usize];
    let mut all = Mispredicted::new();
    for &(address, taken) in branches {
        let latest = taken_before.iter().rev().take(history as usize).enumerate();
        let last: u64 = latest.map(|(n, taken)| u64::from(*taken) << n).sum();
        let number = match kind {
            PredictorKind::Bimodal => address % (1 << bits),
            PredictorKind::Gshare => (address ^ last) % (1 << bits),
            PredictorKind::Gselect => {
                let of_address = 1 << (bits - history);
                last * of_address + address % of_address
            }
        };
        let counter = &mut counters[number as usize];
        if (*counter >= 2) != taken {
            *all.entry(address).or_default() += 1;
        }
        *counter = (*counter + if taken { 1 } else { -1 }).clamp(0, 3);
        taken_before.push(taken);
    }
    all
}

/// Branches some of which alternate, so that their counters stay open.
fn branches(random: &mut Random) -> Vec<Branch> {
    let kinds: Vec<u64> = (0..12).map(|_| random.below(4)).collect();
    let branch = |n: u64| {
        let which = random.below(12);
        let taken = match kinds[which as usize] {
            0 => n.is_multiple_of(2),
            1 => !n.is_multiple_of(7),
            2 => false,
            _ => random.below(3) == 0,
        };
        (0x40 + which * 5, taken)
    };
    (0..500).map(branch).collect()
}

#[test]
fn parts_make_a_whole_in_whatever_way_they_are_put_together() {
    let kinds = [PredictorKind::Bimodal, PredictorKind::Gshare, PredictorKind::Gselect];
    for seed in 0..1500 {
        let mut random = Random::new(seed);
        let kind = kinds[random.below(3) as usize];
        let bits = 2 + random.below(7) as u32;
        let history = if kind == PredictorKind::Bimodal { 0 } else { 1 + random.below(bits.into()) as u32 };
        let shape = PredictorShape::new(kind, bits, history).unwrap();
        let stream = branches(&mut random);
        let expected = simply(kind, bits, history, &stream);
        let mut found = Mispredicted::new();
        let mut tell = |tag, times| *found.entry(tag).or_default() += times;
        let first = random.below(2);
        let mut parts = Vec::new();
        for (number, part) in (first..).zip(random.cut(&stream)) {
            let mut predictor = Predictor::begin(shape, SliceInfo { number });
            for &(address, taken) in part {
                predictor.branch(address, taken, address, &mut tell);
            }
            let encoded = postcard::to_allocvec(&predictor).unwrap();
            parts.push(postcard::from_bytes(&encoded).unwrap());
        }
        let all = folded(parts, &mut random, |left: &mut Predictor<u64>, right| left.append(right, &mut tell));
        all.end(tell);
        assert!(found == expected, "seed {seed}, {shape}");
    }
}

#[test]
fn shapes_are_read_as_they_are_printed_and_impossible_ones_refused() {
    for text in ["bimodal,12", "gshare,14,12", "gselect,14,7", "gshare,1,1"] {
        assert_eq!(text.parse::<PredictorShape>().unwrap().to_string(), text);
    }
    for wrong in ["", "bimodal", "bimodal,25", "bimodal,3,1", "gshare,10", "gshare,10,11", "gshare,10,0", "tage,1,1"] {
        assert!(wrong.parse::<PredictorShape>().is_err(), "{wrong}");
    }
}
