//! The standard tools, a file for each kind.
//!
//! * `profiles`: what was executed and accessed, added up. `traces`: what is written in order. `heap`: what is allocated.

mod allcache;
mod branching;
mod dcache;
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

pub use allcache::AllCache;
pub use branching::{BranchPredictor, Branches};
pub use dcache::DCache;
pub use heap::HeapProfile;
pub use icount::{Icount1, Icount2};
pub use memaddr::MemAddr;
pub use none::Nothing;
pub use opcodes::Opcodes;
pub use profiles::{Bbv, Blocks, Callgrind, CmpCache, Coverage, Edges, Footprint, Hot, Mix, Reuse, SimPoints};
pub use strace::Strace;
pub use traces::{CallTrace, ChampSim, ITrace, MallocTrace, MemTrace};
