//! Lloyd's algorithm.

/// Points put together around centres.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Clusters {
    pub centres: Vec<Vec<f64>>,
    /// The share of the points that each has. It may have none.
    pub shares: Vec<f64>,
}

impl Clusters {
    /// Moves centres to the middle of the points that are nearest to them, until they stay. If they haven't after so many rounds, they are as before the last: so SimPoint has it.
    pub fn find(data: &[Vec<f64>], centres: Vec<Vec<f64>>, rounds: u32) -> Self {
        let first = Self { centres, shares: Vec::new() };
        let mut clusters = Self { shares: first.next(data).shares, ..first };
        for round in 1..=rounds {
            let next = clusters.next(data);
            if next.centres == clusters.centres {
                return next;
            }
            if round < rounds {
                clusters = next;
            }
        }
        clusters
    }

    /// With each centre in the middle of its points. One without any is the origin.
    fn next(&self, data: &[Vec<f64>]) -> Self {
        let (k, dimensions) = (self.centres.len(), data[0].len());
        let weight = 1.0 / data.len() as f64;
        let mut next = Self { centres: vec![vec![0.0; dimensions]; k], shares: vec![0.0; k] };
        for point in data {
            let (cluster, _) = self.nearest(point);
            for (sum, value) in next.centres[cluster].iter_mut().zip(point) {
                *sum += value * weight;
            }
            next.shares[cluster] += weight;
        }
        for (centre, share) in next.centres.iter_mut().zip(&next.shares).filter(|(_, share)| **share > 0.0) {
            centre.iter_mut().for_each(|value| *value /= share);
        }
        next
    }

    /// The cluster whose centre is nearest to a point, the first of several, and the square of its distance.
    pub fn nearest(&self, point: &[f64]) -> (usize, f64) {
        let mut best = (0, f64::MAX);
        for (cluster, centre) in self.centres.iter().enumerate() {
            let distance = square_of_distance(point, centre);
            if distance < best.1 {
                best = (cluster, distance);
            }
        }
        best
    }
}

/// Of two points.
pub fn square_of_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_go_to_the_middle_that_is_nearest() {
        let data: Vec<Vec<f64>> = [0.0, 1.0, 10.0, 11.0, 12.0].map(|x| vec![x, 0.0]).to_vec();
        let clusters = Clusters::find(&data, vec![vec![0.0, 0.0], vec![1.0, 0.0]], 100);
        assert!(square_of_distance(&clusters.centres[0], &[0.5, 0.0]) < 1e-20);
        assert!(square_of_distance(&clusters.centres[1], &[11.0, 0.0]) < 1e-20);
        assert!((clusters.shares[0] - 0.4).abs() < 1e-12 && (clusters.shares[1] - 0.6).abs() < 1e-12);
        assert_eq!(clusters.nearest(&[9.0, 0.0]).0, 1);
    }

    #[test]
    fn a_centre_without_points_is_the_origin() {
        let data = vec![vec![1.0], vec![1.0]];
        let clusters = Clusters::find(&data, vec![vec![1.0], vec![1.0]], 100);
        assert_eq!(clusters, Clusters { centres: vec![vec![1.0], vec![0.0]], shares: vec![1.0, 0.0] });
    }
}
