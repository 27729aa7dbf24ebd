//! `coverage`: which code was executed. The `tool` writes blocks as drcov does, `lcov` source lines.

mod lcov;
mod tool;

pub use tool::Coverage;
