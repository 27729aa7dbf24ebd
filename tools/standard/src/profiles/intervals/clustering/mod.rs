//! Which intervals of a run stand for the others, as SimPoint 3.2 finds them.
//!
//! ```text
//!   vectors   instructions by block, of each interval; each is made to add up to 1
//!   project   onto few dimensions, by a random matrix
//!   k-means   for several numbers k of clusters, each from several random starts
//!   score     the Bayesian information criterion; the fewest clusters that come near the best score are taken
//!   points    of each cluster the interval nearest to its centre, with the cluster's share of all intervals
//! ```
//!
//! The same vectors give the points that SimPoint 3.2 gives, since its random numbers and the order of its sums are these. T. Sherwood, E. Perelman, G. Hamerly, B. Calder: Automatically characterizing
//! large scale program behavior (ASPLOS 2002); G. Hamerly, E. Perelman, J. Lau, B. Calder: SimPoint 3.0 (MoBS 2005).

mod choose;
mod k_means;
mod random;
mod score;
mod settings;

pub use choose::{Point, choose};
pub use settings::Settings;
