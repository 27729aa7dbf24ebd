//! Processes that have memory in common, all of them followed: which pages each of them has stored to, so that what the others see of it is known without
//! comparing all.
//!
//! ```text
//!   a process's page tables ──► page_marks: pages stored to, or looked at, since it was last asked ──► family: what is news to whom
//! ```
//!
//! * `page_marks`: what the kernel tells (`userfaultfd` with asynchronous write protection, `PAGEMAP_SCAN`; Linux 6.7). Without it there is no company, and memory
//!   that others may write is compared as a whole.
//! * `files`: whether anybody else may write a file in memory that they have mapped.
//! * `segments`: whether anybody else has attached System V memory of theirs.
//! * `layers`, `holes`: the copies that slices have of such memory. `copies`: what these lack.
//! * `views`: pages, and where they are mapped.
//! * `member`: what is known of one such process.
//! * `family`: the processes that a process has started since it has such memory, and theirs. `company`: the same, as each of them has it.

#[expect(clippy::module_inception, reason = "the file of what the room is named for")]
mod company;
mod copies;
mod family;
mod files;
mod holes;
mod layers;
mod member;
mod page_marks;
mod segments;
mod views;

pub use company::Company;
pub use holes::write;
pub use layers::{Layers, LayersOfObjects, chunks};
pub use page_marks::{is_swapping, leaves_locks};
