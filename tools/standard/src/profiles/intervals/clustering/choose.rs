//! From vectors to points.

use super::k_means::Clusters;
use super::random::Random;
use super::score;
use super::settings::Settings;

/// An interval that stands for others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The number of its cluster.
    pub cluster: usize,
    /// Its place among the vectors.
    pub vector: usize,
    /// The share of intervals that it stands for.
    pub weight: f64,
}

/// Chooses points. `vectors`: of each interval, by block from 0 on, the instructions that were executed there; `blocks`: how many blocks there are.
pub fn choose(vectors: &[Vec<(u32, u64)>], blocks: usize, settings: &Settings) -> Vec<Point> {
    if vectors.is_empty() {
        return Vec::new();
    }
    let data = project(vectors, blocks, settings);
    let best = search(&data, settings);
    points(&data, &best, settings.coverage)
}

/// The vectors, each made to add up to 1, in fewer dimensions.
fn project(vectors: &[Vec<(u32, u64)>], blocks: usize, settings: &Settings) -> Vec<Vec<f64>> {
    let mut random = Random::new(settings.seed_projection);
    let matrix: Vec<Vec<f64>> =
        (0..blocks).map(|_| (0..settings.dim).map(|_| f64::from(random.float()) * 2.0 - 1.0).collect()).collect();
    let project = |vector: &Vec<(u32, u64)>| {
        let sum: f64 = vector.iter().map(|(_, instructions)| *instructions as f64).sum();
        let mut projected = vec![0.0; settings.dim];
        for (block, instructions) in vector {
            let share = *instructions as f64 / sum;
            for (to, factor) in projected.iter_mut().zip(&matrix[*block as usize]) {
                *to += share * factor;
            }
        }
        projected
    };
    vectors.iter().map(project).collect()
}

/// A clustering that was tried.
struct Tried {
    k: usize,
    clusters: Clusters,
    score: f64,
}

/// Looks for the number of clusters by halves, between 1 and the most, and gives the one with fewest clusters whose score is near enough to the best.
fn search(data: &[Vec<f64>], settings: &Settings) -> Clusters {
    let (mut least, mut most) = (1, settings.max_k);
    let mut to_try = vec![least, most, (least + most) / 2];
    let mut tried: Vec<Tried> = Vec::new();
    let mut seed = settings.seed_clusters;
    while let Some(&k) = to_try.get(tried.len()) {
        tried.push(try_k(data, k, &mut seed, settings));
        if tried.len() < 3 {
            continue;
        }
        let (lowest, highest) = extremes(&tried);
        // What scores too low has too few clusters, unless more clusters score lower still.
        let is_too_few = highest > lowest && tried[tried.len() - 1].score < threshold(&tried, settings);
        let next = if is_too_few { (k + most) / 2 } else { (k + least) / 2 };
        *(if is_too_few { &mut least } else { &mut most }) = k;
        if most > least + 1 {
            to_try.push(next);
        }
    }
    let enough = threshold(&tried, settings);
    let best = tried.into_iter().filter(|one| one.score >= enough).min_by_key(|one| one.k);
    best.map(|one| one.clusters).unwrap_or_default()
}

/// Of several random starts that with the best score. `seed`: that of the next start.
fn try_k(data: &[Vec<f64>], k: usize, seed: &mut u32, settings: &Settings) -> Tried {
    let mut best: Option<Tried> = None;
    for start in 0..settings.starts {
        let mut random = Random::new(seed.wrapping_add(start));
        *seed = seed.wrapping_add(1);
        let centres = (0..k).map(|_| data[random.int() as usize % data.len()].clone()).collect();
        let clusters = Clusters::find(data, centres, settings.rounds);
        let score = score::bayesian(data, &clusters);
        if best.as_ref().is_none_or(|best| score > best.score) {
            best = Some(Tried { k, clusters, score });
        }
    }
    best.unwrap_or_else(|| unreachable!("one start at least"))
}

/// The places of the lowest and the highest score, the first of each.
fn extremes(tried: &[Tried]) -> (usize, usize) {
    let (mut lowest, mut highest) = (0, 0);
    for (n, one) in tried.iter().enumerate() {
        if one.score > tried[highest].score {
            highest = n;
        }
        if one.score < tried[lowest].score {
            lowest = n;
        }
    }
    (lowest, highest)
}

/// The score that is near enough to the best.
fn threshold(tried: &[Tried], settings: &Settings) -> f64 {
    let (lowest, highest) = extremes(tried);
    let (lowest, highest) = (tried[lowest].score, tried[highest].score);
    (highest - lowest) * settings.bic_threshold + lowest
}

/// Of each cluster that belongs to the largest the vector nearest to its centre.
fn points(data: &[Vec<f64>], clusters: &Clusters, coverage: f64) -> Vec<Point> {
    let mut largest: Vec<usize> = (0..clusters.centres.len()).filter(|c| clusters.shares[*c] > 0.0).collect();
    // Of equally large ones that with the higher number first.
    largest.sort_by(|a, b| clusters.shares[*b].total_cmp(&clusters.shares[*a]).then(b.cmp(a)));
    let mut covered = 0.0;
    largest.retain(|c| {
        let is_wanted = covered < coverage;
        covered += clusters.shares[*c];
        is_wanted
    });
    largest.sort_unstable();
    let all: f64 = largest.iter().map(|c| clusters.shares[*c]).sum();
    let mut nearest: Vec<Option<(usize, f64)>> = vec![None; clusters.centres.len()];
    for (vector, (cluster, distance)) in data.iter().map(|point| clusters.nearest(point)).enumerate() {
        if nearest[cluster].is_none_or(|(_, least)| distance.sqrt() < least) {
            nearest[cluster] = Some((vector, distance.sqrt()));
        }
    }
    let point = |cluster: usize| {
        let (vector, _) = nearest[cluster]?;
        Some(Point { cluster, vector, weight: clusters.shares[cluster] / all })
    };
    largest.into_iter().filter_map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings = Settings {
        max_k: 10,
        dim: 15,
        coverage: 1.0,
        bic_threshold: 0.9,
        starts: 5,
        rounds: 100,
        seed_projection: 2_042_712_918,
        seed_clusters: 493_575_226,
    };

    /// A run of three phases, of 50, 30 and 20 of 100 intervals, each with blocks of its own, of which some are executed a little more often by chance.
    fn phases() -> Vec<Vec<(u32, u64)>> {
        let mut random = Random::new(7);
        let mut interval = |n: u32| -> Vec<(u32, u64)> {
            let phase = u32::from(n >= 50) + u32::from(n >= 80);
            (0..20).map(|block| (phase * 20 + block, 1000 + random.int() as u64 % 100)).collect()
        };
        (0..100).map(&mut interval).collect()
    }

    #[test]
    fn each_phase_has_a_point_with_its_share() {
        let points = choose(&phases(), 60, &SETTINGS);
        let mut found: Vec<(usize, f64)> = points.iter().map(|point| (point.vector, point.weight)).collect();
        found.sort_by_key(|(vector, _)| *vector);
        for ((vector, weight), (phase, share)) in found.iter().zip([(0..50, 0.5), (50..80, 0.3), (80..100, 0.2)]) {
            assert!(phase.contains(vector) && (weight - share).abs() < 1e-9, "{points:?}");
        }
        assert_eq!(points.len(), 3);
    }

    #[test]
    fn small_phases_are_left_out_if_the_largest_are_enough() {
        let points = choose(&phases(), 60, &Settings { coverage: 0.75, ..SETTINGS });
        let mut weights: Vec<f64> = points.iter().map(|point| point.weight).collect();
        weights.sort_by(f64::total_cmp);
        assert_eq!(weights.len(), 2);
        assert!((weights[0] - 0.375).abs() < 1e-9 && (weights[1] - 0.625).abs() < 1e-9, "{weights:?}");
    }

    #[test]
    fn a_run_of_few_intervals_has_points() {
        assert!(choose(&[], 0, &SETTINGS).is_empty());
        let one = choose(&[vec![(0, 7)]], 1, &SETTINGS);
        assert!(one.len() == 1 && one[0].vector == 0 && (one[0].weight - 1.0).abs() < 1e-9, "{one:?}");
        let alike = choose(&vec![vec![(0, 7), (1, 3)]; 9], 2, &SETTINGS);
        assert_eq!(alike.len(), 1, "{alike:?}");
    }
}
