//! Reading the app's files: in the collector alone, each file once.
//!
//! ```text
//!   file ─► stubs, ranges ─► elf ─► library ─► reader: for who asks while the app runs
//!    ├────► debug ───────────────────┘  │
//!    └────► lines ──────────────────────┴────► run_images: for `fini`
//! ```
//!
//! * `file`: a file's bytes. `debug`: the file of debug information that belongs to another.
//! * `elf`: what is in a file: segments, sections, symbols. `stubs`: names of the stubs by which it calls others. `ranges`: which code belongs to which symbol.
//! * `library`: the files that were read. `lines`: source lines.
//! * `reader`: the thread that answers slices. `run_images`: the images of a run, when it is over.

mod debug;
mod elf;
mod file;
mod library;
mod lines;
mod ranges;
mod reader;
mod run_images;
mod stubs;

pub use library::Library;
pub use lines::Line;
pub use reader::answer_questions;
pub use run_images::{Asked, Images};
