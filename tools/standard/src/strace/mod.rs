//! `strace`: the app's system calls and signals, in the order in which they are over.
//!
//! ```text
//!   text ◄─ lines ◄─ tool
//! ```
//!
//! * `tool`: the tool and its options. `lines`: what slices hand in, and how that is put together.
//! * `text`: how arguments, results and signals are printed.

mod lines;
mod text;
mod tool;

pub use tool::Strace;
