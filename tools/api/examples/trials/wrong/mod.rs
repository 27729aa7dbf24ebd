//! Tools that are wrong: `failing` ones, whose runs have no result, `impure` ones, which only checking finds, and `slow` ones, unless they say so.

pub mod failing;
pub mod impure;
pub mod slow;
