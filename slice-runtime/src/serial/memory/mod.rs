//! Calls that shape memory, and the image's memory, which the app mustn't see.
//!
//! ```text
//!   mmap, mprotect, … ──► memory ──► the engine is told ──► the kernel
//!   read of /proc/self/maps ──► maps: without the bubble
//! ```
//!
//! * `memory`: calls that shape the address space. `maps`: what it is told of its mappings.
//! * `locked`: memory that is locked all at once.
//! * `written_files`, `self_mem`: writing to code by a file. `notifying_memory`: writes that the engine is told of first.
//! * `limits`: limits that the image has used up a part of.
//! * `virtual_calls`: calls that never become real.

pub mod limits;
pub mod locked;
mod maps;
#[expect(clippy::module_inception, reason = "the file of what the room is named for")]
pub mod memory;
mod notifying_memory;
mod self_mem;
mod virtual_calls;
pub mod written_files;

pub use limits::limit_open_files;
pub use maps::MapsFiles;
pub use self_mem::SelfMem;
pub use virtual_calls::VirtualCalls;
pub use written_files::open_at_start;
