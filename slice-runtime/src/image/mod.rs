//! A Rust program in another's process: what it would take from the process is served from the bubble instead.
//!
//! ```text
//!   Rust: Box, Vec ──► heap ──────► HEAP
//!   libc: malloc ────► libc_shims ─► LIBC_HEAP      the app's program break stays where it is
//!   snapshot: all of this, once started, for later slices to go on from
//! ```
//!
//! * `injected`: whether this program is an image in a taken-over process.
//! * `heap`, `small_blocks`: the Rust allocator.
//! * `libc_shims`: what the image brings in place of functions of its own libc.
//! * `tls`: thread-local variables for further threads.
//! * `snapshot`: what all slices need alike is started once.

pub mod heap;
mod injected;
mod libc_shims;
mod small_blocks;
pub mod snapshot;
pub mod tls;

pub use injected::injected;
pub use libc_shims::keep_malloc_in_the_bubble;
