//! The guests: what each needs to be built and run, read from the head of its source, so that a guest is one file.
//!
//! ```text
//!   tests/guests ─► sources ─► head: its words ─► all: the guests ─► Guest ─► its job, its native run
//!                      └────── build: headers, flags, compilers ──────┘
//! ```
//!
//! A guest's name is its file's, with the build's where it has several. The folder that it lies in makes no difference to it.

mod all;
mod build;
#[expect(clippy::module_inception, reason = "the file of the type Guest")]
mod guest;
mod head;
mod sources;

pub use all::{all, named};
pub use guest::Guest;
