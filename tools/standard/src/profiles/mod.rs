//! Tools that add up what was executed and what was accessed.
//!
//! * `mix`: instructions by kind and place. `hot`: routines, loops and lines; `shadow`: routines, from samples. `calls`: who has called whom (`callgrind`, `stacks`). `blocks`: how often each was executed. `coverage`: blocks, as drcov writes them. `edges`: from where to where the app went. `intervals`: blocks by intervals of the run, for SimPoint (`bbv`), and which intervals stand for the run (`simpoints`).
//! * `footprint`: memory that was touched. `reuse`: how much else was touched since the last time, a `stack` of lines. Both see `accesses`.
//! * `places`: images, routines and lines of addresses. `sources`: the text of lines.

mod blocks;
mod calls;
mod coverage;
mod edges;
mod footprint;
mod hot;
mod intervals;
mod mix;
pub(crate) mod places;
mod reuse;
mod shadow;
pub(crate) mod sources;
mod stack;

pub use blocks::Blocks;
pub use calls::{Callgrind, Stacks};
pub use coverage::Coverage;
pub use edges::EdgeProfile;
pub use footprint::Footprint;
pub use hot::Hot;
pub use intervals::{Bbv, SimPoints};
pub use mix::Mix;
pub use reuse::Reuse;
pub use shadow::Shadow;
