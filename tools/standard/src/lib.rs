//! The standard tools, a file for each kind.

mod dcache;
mod icount;
mod memaddr;
mod none;

pub use dcache::DCache;
pub use icount::{Icount1, Icount2};
pub use memaddr::MemAddr;
pub use none::Nothing;
