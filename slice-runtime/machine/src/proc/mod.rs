//! What the kernel tells of processes, in /proc.
//!
//! ```text
//!   files ─► maps ─────► mapping      which memory, of what, with which rights
//!         ─► pagemap ──► pagemap      which pages are there, and which are the process's own
//!         ─► status ───► status       signals, parents, rights
//! ```

mod files;
pub mod mapping;
pub mod pagemap;
mod status;

pub use files::{look_in, open, open_to_write, read_link, read_to_string};
pub use status::Status;
