//! Memory that slices mustn't share with the master, and files that slices make busy.
//!
//! ```text
//!   shared mapping ──► shared_contents: bytes ──► app::Layers: what has changed since ──► shared_copies ──► a slice's private mapping
//! ```
//!
//! * `process_memory`: what is known of a process's memory, as one: what it shares, with whom, and which files are behind it.
//! * `shared_copies`, `shared_contents`: copies of shared mappings, page by page.
//! * `behind_end`: mappings that go on behind a file's end.
//! * `whole_objects`: shared memory of which the app chooses what it maps.
//! * `common_memory`: memory that other followed processes store to.
//! * `huge_pages`: advice that makes forks cheap.
//! * `file_writes`, `file_views`: calls that write a file that is mapped, as long as nobody else writes it, and what its mappings show then.
//! * `self_mem`, `written`: the app writes its memory by a file, or a file by its name.
//! * `changed_pages`: which pages the app has written since a slice's start.
//! * `busy_programs`: a program can't be written as long as a slice executes it.

mod behind_end;
pub mod busy_programs;
mod changed_pages;
mod common_memory;
mod file_views;
mod file_writes;
mod huge_pages;
mod process_memory;
mod self_mem;
mod shared_contents;
mod shared_copies;
mod whole_objects;
mod written;

pub use changed_pages::{Changes, FirstThread};
pub use common_memory::InheritedMemory;
pub use file_writes::FileWrite;
pub use process_memory::{ProcessMemory, Treatment};
