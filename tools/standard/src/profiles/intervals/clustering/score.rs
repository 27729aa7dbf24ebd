//! How good a clustering is.

use super::k_means::{Clusters, square_of_distance};

/// Its Bayesian information criterion: how likely the points are if each cluster is a round normal distribution, all of the same width, less what its numbers are worth (D. Pelleg, A. Moore: X-means, 2000;
/// in SimPoint's form). More is better.
pub fn bayesian(data: &[Vec<f64>], clusters: &Clusters) -> f64 {
    let (points, dimensions, k) = (data.len() as f64, data[0].len() as f64, clusters.centres.len() as f64);
    let of: Vec<usize> = data.iter().map(|point| clusters.nearest(point).0).collect();
    let distances = data.iter().zip(&of).map(|(point, cluster)| square_of_distance(point, &clusters.centres[*cluster]));
    let sum: f64 = distances.sum();
    // Where all points are centres any width is too wide.
    let width = (sum / (dimensions * points)).max(f64::MIN_POSITIVE);
    let normal = -dimensions * ((2.0 * std::f64::consts::PI * width).ln() + 1.0) / 2.0;
    let shares = of.iter().map(|cluster| clusters.shares[*cluster]).filter(|share| *share > 0.0);
    let chosen: f64 = shares.map(|share| share.ln() / points).sum();
    let numbers = (k - 1.0) + k * dimensions + 1.0;
    (normal + chosen) * points - numbers / 2.0 * points.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_clusters_as_there_are_score_best() {
        let near = |middle: f64| (0..40).map(move |n| vec![middle + f64::from(n % 7) / 10.0, f64::from(n % 5) / 10.0]);
        let data: Vec<Vec<f64>> = near(0.0).chain(near(50.0)).chain(near(100.0)).collect();
        let score = |k: usize| {
            let centres = (0..k).map(|n| data[n * 40 % 120 + n / 3].clone()).collect();
            bayesian(&data, &Clusters::find(&data, centres, 100))
        };
        let scores = [1, 2, 3, 4, 9].map(score);
        assert!(scores[0] < scores[1] && scores[1] < scores[2], "{scores:?}");
        assert!(scores[4] < scores[2], "{scores:?}");
    }

    #[test]
    fn points_that_are_all_alike_have_a_score() {
        let data = vec![vec![1.0, 2.0]; 5];
        let score = |k: usize| bayesian(&data, &Clusters::find(&data, vec![data[0].clone(); k], 100));
        assert!(score(1).is_finite() && score(1) > score(2));
    }
}
