//! The standard tools, a file for each kind.
//!
//! * `profiles`: what was executed and accessed, added up. `traces`: what is written in order. `caches`: simulated ones. `heap`: what is allocated. `accesses`: of data, for those who only need addresses.

mod accesses;
mod branching;
mod caches;
mod heap;
mod icount;
mod memaddr;
mod none;
mod opcodes;
mod profiles;
mod repeat;
mod strace;
mod threads;
mod traces;

pub use branching::{BranchPredictor, Branches};
pub use caches::{AllCache, CacheProfile, CmpCache, DCache, DataProfile};
pub use heap::HeapProfile;
pub use icount::{Icount1, Icount2};
pub use memaddr::MemAddr;
pub use none::Nothing;
pub use opcodes::Opcodes;
pub use profiles::{
    Bbv, Blocks, Callgrind, Coverage, EdgeProfile, Footprint, Hot, Mix, Reuse, Shadow, SimPoints, Stacks,
};
pub use strace::Strace;
pub use traces::{CallTrace, ChampSim, ITrace, MallocTrace, MemTrace, is_end_of_trace, write_as_text};
