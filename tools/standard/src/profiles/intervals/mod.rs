//! What was executed in each interval of the run, and which intervals stand for the whole.
//!
//! * `vectors`: instructions by block and interval. `bbv` writes them, for SimPoint. `simpoints` chooses intervals itself, by `clustering`.

mod bbv;
mod clustering;
mod simpoints;
mod vectors;

pub use bbv::Bbv;
pub use simpoints::SimPoints;
