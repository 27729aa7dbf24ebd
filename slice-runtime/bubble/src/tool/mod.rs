//! What all processes of a run know of its tool.
//!
//! * [`region`]: which part of a run it looks at. [`routines`]: its routines, as a report tells of them. [`values`]: what it counts of the run before.

pub mod region;
pub mod routines;
pub mod values;
