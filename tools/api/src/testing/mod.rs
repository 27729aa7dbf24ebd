//! A test kit for authors: a tool sees the same serially, in slices, and when it is checked.
//!
//! ```text
//!   Runs ─► run: one run of the tool's image, in a folder of its own, within a time
//! ```
//!
//! The test is a program beside the tool's (`tests/NAME.rs` of its crate): a tool image has no `main` of Rust's, which a test harness needs.

mod run;
mod runs;

pub use runs::Runs;
