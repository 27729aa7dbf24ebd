//! Tools that write what happens, in order.
//!
//! * `text`: instructions, and memory accesses. `champsim`: both, for the simulator ChampSim.
//! * `calls`: routines that are entered and left. `malloc`: those that allocate and free.

mod calls;
mod champsim;
mod malloc;
mod text;

pub use calls::CallTrace;
pub use champsim::ChampSim;
pub use malloc::MallocTrace;
pub use text::{ITrace, MemTrace};
