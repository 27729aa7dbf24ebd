//! The standard tools, one file each.

mod dcache;
mod icount1;
mod icount2;
mod memaddr;
mod none;

pub use dcache::DCache;
pub use icount1::Icount1;
pub use icount2::Icount2;
pub use memaddr::MemAddr;
pub use none::Nothing;
