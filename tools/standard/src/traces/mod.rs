//! Tools that write what happens, in order.
//!
//! * `text`: instructions, and memory accesses, in `lines`, as valgrind's `lackey` has them, in `binary`, or for DynamoRIO's tools (`drmemtrace`). `champsim`: both, for the simulator ChampSim.
//! * `calls`: routines that are entered and left. `malloc`: those that allocate and free.

mod binary;
mod calls;
mod champsim;
mod drmemtrace;
mod lackey;
mod lines;
mod malloc;
mod text;

pub use binary::{is_end_of_trace, write_as_text};
pub use calls::CallTrace;
pub use champsim::ChampSim;
pub use malloc::MallocTrace;
pub use text::{ITrace, MemTrace};
