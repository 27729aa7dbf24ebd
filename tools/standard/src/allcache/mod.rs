//! `allcache`: the instruction and data TLBs and the caches of a processor, in three levels.
//!
//! ```text
//!   options ─► tool ─► seen
//! ```
//!
//! * `options`: sizes.
//! * `seen`: what a part of the execution did to them.
//! * `tool`: what is instrumented, and what is printed.

mod options;
mod seen;
mod tool;

pub use tool::AllCache;
