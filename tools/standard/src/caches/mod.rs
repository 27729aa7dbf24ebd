//! Tools that simulate caches.
//!
//! ```text
//!   processors ─► geometry ─┬──────────────────┐
//!         shapes ─┬────► seen ─┬─► allcache    │
//!         words ──┘            └─► cache, data ◄┘
//! ```
//!
//! * `allcache`: TLBs and caches in three levels, as a whole. `cache`: the same by routine, line and instruction. `data`: by variable and allocated block.
//! * `processors`: caches of some that one can buy. `geometry`: which the command line asks for. `shapes`: their sizes. `words`: accesses in the buffer. `seen`: what a part of the execution did.
//! * `dcache`: one line for each set. `cmpcache`: caches of several cores.

mod allcache;
mod cache;
mod cmpcache;
mod data;
mod dcache;
mod geometry;
mod processors;
mod seen;
mod shapes;
mod words;

pub use allcache::AllCache;
pub use cache::CacheProfile;
pub use cmpcache::CmpCache;
pub use data::DataProfile;
pub use dcache::DCache;
