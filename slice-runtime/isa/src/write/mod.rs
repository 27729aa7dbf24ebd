//! Machine code, written.
//!
//! ```text
//!   code: a buffer that knows at which address it will run
//!     ◄─ encode: addresses, prefixes
//!        ◄─ moves, jumps, arithmetic, kept: instructions of the translator's own
//!        ◄─ rewrite: the app's instructions, with another memory operand
//! ```
//!
//! An operand that the translator gives by its address is RIP-relative, or [`Code::through_gs`].

mod arithmetic;
mod code;
mod encode;
mod jumps;
mod kept;
mod moves;
mod rewrite;

pub use code::{Code, Fixup};
pub(crate) use rewrite::is_moffs;
pub(crate) use rewrite::register_64;
