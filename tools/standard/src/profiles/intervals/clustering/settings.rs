//! What a user may say of the choice.

/// How points are chosen.
#[derive(Clone, Copy, Debug, PartialEq, clap::Args)]
pub struct Settings {
    /// Clusters at most
    #[arg(long, value_name = "K", default_value_t = 30)]
    pub max_k: usize,
    /// Dimensions onto which the vectors are projected
    #[arg(long, value_name = "N", default_value_t = 15)]
    pub dim: usize,
    /// The clusters' points are those of the largest that make up this share of all intervals
    #[arg(long, value_name = "SHARE", default_value_t = 1.0)]
    pub coverage: f64,
    /// How near to the best score a clustering must come; 0 to 1
    #[arg(long, value_name = "SHARE", default_value_t = 0.9)]
    pub bic_threshold: f64,
    /// Random starts for each number of clusters
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub starts: u32,
    /// Rounds of k-means at most
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub rounds: u32,
    /// Start of the random numbers for the projection
    #[arg(long, value_name = "N", default_value_t = 2_042_712_918)]
    pub seed_projection: u32,
    /// Start of the random numbers for k-means
    #[arg(long, value_name = "N", default_value_t = 493_575_226)]
    pub seed_clusters: u32,
}

impl Settings {
    /// What is wrong with them.
    pub fn check(&self) -> Result<(), String> {
        let is_share = |share: f64| (0.0..=1.0).contains(&share);
        match self {
            _ if !is_share(self.coverage) => Err("--coverage: a share from 0 to 1".into()),
            _ if !is_share(self.bic_threshold) => Err("--bic-threshold: a share from 0 to 1".into()),
            Self { max_k: 0, .. } | Self { dim: 0, .. } | Self { starts: 0, .. } | Self { rounds: 0, .. } => {
                Err("--max-k, --dim, --starts and --rounds are 1 at least".into())
            }
            _ => Ok(()),
        }
    }
}
