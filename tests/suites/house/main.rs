//! The house: who names whom, and how large rooms and files are.
//!
//! A *room* is a folder. Its `mod.rs` is its page: it says what is there, and re-exports it. Arrows go one way:
//!
//! ```text
//!   no circle of files          a.rs names b.rs, b.rs names a.rs      (items behind `pub use` count as where they are)
//!   no circle of rooms          the same for what lies side by side in a folder
//!   methods of a type in one room, those below it included
//!   no code in a page           `mod.rs` holds `mod`, `use`, attributes, docs
//!   rooms of 14 files at most, files of 400 lines at most           (of tests, benches and examples, too)
//! ```

mod crates;
mod features;
mod files;
mod findings;
mod guests;
mod impls;
mod names;

use std::path::Path;

/// The crates whose tree is looked at.
const CRATES: [&str; 16] = [
    "benches",
    "sigmatch",
    "slice-runtime",
    "slice-runtime/bubble",
    "slice-runtime/engine",
    "slice-runtime/isa",
    "slice-runtime/machine",
    "slice-runtime/translator",
    "supervisor",
    "supervisor/tracee",
    "syscall-replay",
    "tests",
    "tools/api",
    "tools/standard",
    "tools/superpin",
    "examples/hot-calls",
];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

#[test]
fn the_tree_is_tidy() {
    let found: Vec<String> = CRATES.into_iter().flat_map(|name| findings::of(root(), name)).collect();
    assert!(found.is_empty(), "not wanted:\n{}", found.join("\n"));
}
