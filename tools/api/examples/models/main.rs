//! A tool image for the tests of this crate: totals that merge by name, and machines whose state goes on from slice to slice.

#![no_main]

mod areas;
mod branches;
mod heaps;

superpin_tool::image!(areas::Areas, areas::Slices, heaps::Heaps, branches::LongHistory);
