//! Tools that simulate caches.
//!
//! ```text
//!   shapes ─┬────────► seen ─┬─► allcache
//!   words ──┘                └─► cache
//! ```
//!
//! * `allcache`: TLBs and caches in three levels, as a whole. `cache`: the same by routine, line and instruction.
//! * `shapes`: sizes. `words`: accesses in the buffer. `seen`: what a part of the execution did.
//! * `dcache`: one line for each set. `cmpcache`: caches of several cores.

mod allcache;
mod cache;
mod cmpcache;
mod dcache;
mod seen;
mod shapes;
mod words;

pub use allcache::AllCache;
pub use cache::CacheProfile;
pub use cmpcache::CmpCache;
pub use dcache::DCache;
