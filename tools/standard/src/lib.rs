//! The standard tools, a file for each kind.

mod allcache;
mod bpred;
mod branches;
mod dcache;
mod icount;
mod memaddr;
mod none;
mod opcodes;
mod repeat;
mod strace;
mod threads;
mod trace;

pub use allcache::AllCache;
pub use bpred::BranchPredictor;
pub use branches::Branches;
pub use dcache::DCache;
pub use icount::{Icount1, Icount2};
pub use memaddr::MemAddr;
pub use none::Nothing;
pub use opcodes::Opcodes;
pub use strace::Strace;
pub use trace::{ITrace, MemTrace};
