//! Tools that are wrong: `failing` ones, whose runs have no result, and `impure` ones, which only checking finds.

pub mod failing;
pub mod impure;
